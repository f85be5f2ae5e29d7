"""Where the implicit search ends, and how fast, from four starts on five structures.

    python benchmarks/tuning_convergence.py          # half an hour
    python benchmarks/tuning_convergence.py --quick  # a tenth of the data, into a temporary folder

Starts are precisions of 0.1, 1 and 10, and those that `majorize` learns. After each evaluation all training
data are fitted once more with the precisions so far, for the test score; that is not part of the cost. Passes
over the training data are those of the search; a fit is what one at precisions of 1 takes.
"""

from __future__ import annotations

import itertools
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from common import asked_to_be_quick, folder_for, machine
from structune import Classifier, Regressor, RNAFolder, SequenceAligner, SequenceTagger
from structune.learning import ImplicitTuner

STARTS: dict[str, float | None] = {"0.1": 0.1, "1": 1.0, "10": 10.0, "majorize": None}


@dataclass(frozen=True)
class Task:
    """What to learn: `make` gives an estimator of these parameters, `score` is of a fitted one."""

    make: Callable[..., Any]
    train: tuple[Any, Any]
    score: Callable[[Any], float]
    measure: str


def of_score(make: Callable[..., Any], train: Any, test: Any, measure: str) -> Task:
    return Task(make, train, lambda model: float(model.score(*test)), measure)


def chunking(share: float) -> Task:
    from conll2000 import labels_of, load, table_of

    train, test = load("train", round(2000 * share)), load("test", None)
    table, labels = table_of(test), labels_of(test)
    known = list(itertools.chain.from_iterable(labels))

    def accuracy(model: Any) -> float:
        return float(
            np.mean([a == b for a, b in zip(itertools.chain(*model.predict(table)), known, strict=True)])
        )

    return Task(SequenceTagger, (table_of(train), labels_of(train)), accuracy, "accuracy of tokens")


def classes(share: float) -> Task:
    """More features than examples, in groups of which few tell anything."""
    rng, n, p = np.random.default_rng(0), round(300 * share) + 50, 1000
    x = rng.normal(size=(n + 5000, p))
    y = (x[:, :10].sum(1) + 0.3 * x[:, 10:60].sum(1) + rng.normal(size=len(x)) > 0).astype(int)
    blocks = [f"block {k}" for k in np.searchsorted([10, 60, 200, 500], np.arange(p), "right")]
    return of_score(
        lambda **options: Classifier(groups=blocks, **options), (x[:n], y[:n]), (x[n:], y[n:]), "accuracy"
    )


def regression(share: float) -> Task:
    rng, n, p = np.random.default_rng(1), round(400 * share) + 50, 120
    x = rng.normal(size=(n + 5000, p))
    y = x[:, :10].sum(1) + 0.2 * x[:, 10:60].sum(1) + 2.0 * rng.normal(size=len(x))
    blocks = [f"block {k}" for k in np.searchsorted([10, 60], np.arange(p), "right")]
    return of_score(
        lambda **options: Regressor(groups=blocks, **options), (x[:n], y[:n]), (x[n:], y[n:]), "R squared"
    )


def folding(share: float) -> Task:
    from structune.rna import load_rna

    data = load_rna("s151rfam")
    short = [k for k, sequence in enumerate(data.sequences) if len(sequence) <= 140]
    order = np.random.default_rng(0).permutation(short)
    n = round(0.5 * share * len(short))
    parts = [
        ([data.sequences[k] for k in chosen], [data.structures[k] for k in chosen])
        for chosen in (order[:n], order[n:])
    ]
    return of_score(partial(RNAFolder, cv=0.2), parts[0], parts[1], "F1 of base pairs")


def aligning(share: float) -> Task:
    from alignment_accuracy import half, pairs_of, recall
    from structune.alignment import load_protein_alignments

    pairs = pairs_of(list(load_protein_alignments("sabre").values())[: round(30 * share)], 2)
    chosen = half(pairs.files, 0.5, 0)
    train, test = pairs.where(chosen), pairs.where(~chosen)
    return Task(
        partial(SequenceAligner, cv=0.2),
        (train.sequences, train.rows),
        lambda model: float(np.mean(recall(test, model.predict(test.sequences)))),
        "recall of pairs",
    )


TASKS: dict[str, Callable[[float], Task]] = {
    "chunks of CoNLL-2000": chunking,
    "classes, p > n": classes,
    "regression": regression,
    "RNA structures": folding,
    "protein alignments": aligning,
}


def search(task: Task, start: Any) -> dict[str, Any]:
    """One search: its points, and the test score with the precisions of each."""
    begin = time.process_time()
    model = task.make(tuning=ImplicitTuner(start=start)).fit(*task.train)
    seconds = time.process_time() - begin
    points = [record for record in model.history_ if "heldout_loss" in record]
    scores = []
    for record in points:
        penalty = dict(zip(model.group_names_, np.exp(record["log_precision"]).tolist(), strict=True))
        scores.append(task.score(task.make(tuning=None, penalty=penalty).fit(*task.train)))
    return {
        "status": model.status_,
        "passes": model.passes_,
        "cpu_seconds": seconds,
        "heldout_loss": [record["heldout_loss"] for record in points],
        "possible_gain": [record.get("possible_gain") for record in points],
        "passes_of": [record["passes"] for record in points],
        "test": scores,
        "test_at_end": task.score(model),
        "precision": dict(zip(model.group_names_, model.penalty_.tolist(), strict=True)),
    }


def run(name: str, share: float) -> dict[str, Any]:
    task = TASKS[name](share)
    begin = time.process_time()
    one = task.make(tuning=None, penalty=1.0).fit(*task.train)
    found: dict[str, Any] = {
        "measure": task.measure,
        "one_fit": {"passes": one.passes_, "test": task.score(one)},
    }
    found["one_fit"]["cpu_seconds"] = time.process_time() - begin
    integrated = task.make(tuning="majorize").fit(*task.train)
    tried = [record for record in integrated.history_ if record["stage"] == "calibrate"]
    levels = [[record["factor"], record["held_out"]] for record in tried]  # of the precisions, and their loss
    found["majorize"] = {"passes": integrated.passes_, "test": task.score(integrated), "levels": levels}
    found["starts"] = {}
    for label, start in STARTS.items():
        found["starts"][label] = one = search(task, integrated.penalty_ if start is None else start)
        print(
            f"{name:22} from {label:>8}: {one['status']}, held-out loss {min(one['heldout_loss']):.2f}, "
            f"{one['passes'] / found['one_fit']['passes']:.1f} fits, {task.measure} {one['test_at_end']:.4f} "
            f"(precisions of 1 {found['one_fit']['test']:.4f}, majorize {found['majorize']['test']:.4f})",
            flush=True,
        )
    return found


def plot(results: dict[str, Any], path: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(results), figsize=(3.4 * len(results), 6), layout="constrained")
    for column, (name, found) in zip(axes.T, results.items(), strict=True):
        for label, one in found["starts"].items():
            fits = np.array(one["passes_of"]) / found["one_fit"]["passes"]
            column[0].plot(
                fits, np.minimum.accumulate(one["heldout_loss"]), "o-", ms=3, label=f"from {label}"
            )
            column[1].plot(fits, one["test"], "o-", ms=3)
        column[1].axhline(found["one_fit"]["test"], color="gray", ls=":", label="precisions of 1")
        column[1].axhline(found["majorize"]["test"], color="black", ls="--", label="majorize")
        column[0].set_title(name)
        column[0].set_ylabel("lowest held-out loss")
        column[1].set_ylabel(found["measure"])
        column[1].set_xlabel("cost, in fits")
        column[0].legend(frameon=False)
        column[1].legend(frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    warnings.simplefilter("ignore")
    folder = folder_for("tuning_convergence", quick)
    results: dict[str, Any] = {}
    for name in TASKS:
        results[name] = run(name, 0.1 if quick else 1.0)
        text = json.dumps({"machine": machine(), **results}, indent=1)
        (folder / "tuning_convergence.json").write_text(text + "\n")
    plot(results, folder / "tuning_convergence.png")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
