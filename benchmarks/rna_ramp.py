"""Convex bound and ramp loss on RNA structures: table 3 of Chapelle et al. 2008.

    python benchmarks/rna_ramp.py            # about half an hour on one core
    python benchmarks/rna_ramp.py --quick    # sequences of up to 50 bases, into a temporary folder

The paper's 1359 sequences of Rfam 8.1 are not known; these are 1359 of Rfam 14.9, shorter ones. Two folds of
whole families, at random. CRF (log loss), convex bound and ramp loss with 1 - recall as cost have the same
features, one penalty each, and predict by Viterbi. In a fold each loss gets the penalty of the highest
recall, the mean over sequences, on a third of the families of the training fold, held out once: of a path
from the strongest penalty on that starts every fit at the one before (the ramp loss: the convex fit it starts
with). The paths differ: where the weights of one loss vanish, those of another are at their best. Then a fit
to the whole training fold starts at zero. Beside it what the highest mean F1 along the same path gives. A run
goes on where the results end.

How the paper averages is unknown: "pooled" counts the pairs of all sequences, "mean" is that over sequences.
Intervals are paired bootstraps over sequences. Seconds are those of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, log, mean_difference, pack, unpack, write
from structune import RNAFolder
from structune.learning import paired_difference
from structune.rna import RNAData, base_pair_scores, load_rna

Array = NDArray[Any]
NAME = "rna_ramp"
LOSSES = {"CRF": "log", "convex": "margin", "ramp": "ramp"}
POWERS = {"CRF": range(5, -3, -1), "convex": range(10, 1, -1), "ramp": range(8, -1, -1)}
PENALTIES = {loss: [4.0**k for k in powers] for loss, powers in POWERS.items()}
HOLDOUT = 1 / 3
CRITERIA = ("recall", "f1")
COMPARED = (("ramp", "convex"), ("ramp", "CRF"), ("convex", "CRF"))
BINS = {"1-50": (1, 50), "51-100": (51, 100), "101-200": (101, 200), "201+": (201, 10**9), "all": (1, 10**9)}
PUBLISHED = {  # sensitivity and selectivity in the order of BINS
    "CRF": ((0.546, 0.862), (0.586, 0.727), (0.467, 0.523), (0.414, 0.472), (0.505, 0.614)),
    "convex": ((0.690, 0.755), (0.664, 0.629), (0.571, 0.501), (0.542, 0.484), (0.608, 0.565)),
    "ramp": ((0.725, 0.708), (0.705, 0.602), (0.612, 0.489), (0.569, 0.461), (0.646, 0.542)),
}
PUBLISHED_SEQUENCES = dict(zip(BINS, (118, 489, 478, 274, 1359), strict=True))
STATISTICS = {"sensitivity": (2, 0), "ppv": (2, 1)}  # columns of `counts_of`, above and below


# --- one loss on one fold ---------------------------------------------------------------------------------


def part_of_families(data: RNAData, share: float, seed: int) -> tuple[Array, Array]:
    """The examples of a share of the families, drawn at random, and the others."""
    names = np.random.default_rng(seed).permutation(sorted(set(data.families)))
    chosen = np.isin(data.families, names[: round(share * names.size)])
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def folds_of(data: RNAData) -> list[tuple[Array, Array]]:
    """Training and test examples, there and back."""
    a, b = part_of_families(data, 0.5, 0)
    return [(a, b), (b, a)]


def path(loss: str, train: RNAData) -> Iterator[RNAFolder]:
    """Models from the strongest penalty on; each starts at the one before, and is the same object."""
    folder = RNAFolder(loss=LOSSES[loss], warm_start=True, n_jobs=1)
    for penalty in PENALTIES[loss]:
        yield folder.set_params(penalty=penalty).fit(train.sequences, train.structures)


def try_penalties(loss: str, train: RNAData) -> list[dict[str, Any]]:
    """What each penalty of the path gives on held-out families."""
    held, kept = (train.take(part) for part in part_of_families(train, HOLDOUT, 1))
    rows: list[dict[str, Any]] = []
    start = time.process_time()
    for folder in path(loss, kept):
        scores = base_pair_scores(held.structures, folder.predict_viterbi(held.sequences))
        means = {"recall": scores.sensitivity.mean(), "ppv": scores.ppv.mean(), "f1": scores.f1.mean()}
        rows.append({"penalty": folder.penalty, **{key: round(float(v), 5) for key, v in means.items()}})
        rows[-1] |= {"passes": folder.passes_, "status": folder.status_}
        rows[-1]["seconds"] = round(time.process_time() - start, 1)
        log(f"{loss}: {rows[-1]}")
        start = time.process_time()
    return rows


def best(rows: list[dict[str, Any]], criterion: str) -> int:
    """The best row; the first of several."""
    return int(np.argmax([row[criterion] for row in rows]))


def fit(loss: str, penalty: float, train: RNAData, test: RNAData) -> dict[str, Any]:
    """A fit to the whole training fold, and what it predicts of the other."""
    start = time.process_time()
    folder = RNAFolder(loss=LOSSES[loss], penalty=penalty, n_jobs=1).fit(train.sequences, train.structures)
    seconds = time.process_time() - start
    scores = base_pair_scores(test.structures, folder.predict_viterbi(test.sequences))
    known = base_pair_scores(train.structures, folder.predict_viterbi(train.sequences))
    log(f"{loss}: penalty {penalty:g}, {seconds:.0f} s, {folder.passes_:.0f} passes, {scores.pooled}")
    return {
        "seconds": round(seconds, 1),
        "passes": folder.passes_,
        "status": folder.status_,
        "rounds": max(0, sum(row["stage"] == "cccp" for row in folder.history_) - 1),
        "training_recall": round(float(known.sensitivity.mean()), 5),
        "norm_of_weights": round(float(np.linalg.norm(folder.coef_)), 4),
        "counts": pack(counts_of(scores).astype("u2")),
    }


def counts_of(scores: Any) -> Array:
    """True, predicted and right pairs of each sequence."""
    return np.column_stack([scores.n_true, scores.n_predicted, scores.right_true])


def run(loss: str, train: RNAData, test: RNAData) -> dict[str, Any]:
    rows = try_penalties(loss, train)
    penalties = {criterion: rows[best(rows, criterion)]["penalty"] for criterion in CRITERIA}
    fits = {f"{c:g}": fit(loss, c, train, test) for c in dict.fromkeys(penalties.values())}
    return {"path": rows, "penalty": penalties, "fits": fits}


# --- what both folds say ----------------------------------------------------------------------------------


def all_counts(data: RNAData, folds: list[dict[str, Any]], loss: str, criterion: str) -> Array:
    """`counts_of` all sequences, each from the fold where it was tested."""
    counts = np.zeros((len(data), 3))
    for (_, test), fold in zip(folds_of(data), folds, strict=True):
        chosen = fold[loss]["fits"][f"{fold[loss]['penalty'][criterion]:g}"]
        counts[test] = unpack(chosen["counts"], "u2", test.size)
    return counts


def ratio(sums: Array, above: int, below: int) -> Array:
    return sums[..., above] / np.maximum(sums[..., below], 1)  # without predicted pairs 0, as in the library


def describe(counts: Array) -> dict[str, Any]:
    sums = counts.sum(axis=0)
    return {
        name: {"pooled": float(ratio(sums, *columns)), "mean": float(ratio(counts, *columns).mean())}
        for name, columns in STATISTICS.items()
    }


def compare(base: Array, other: Array) -> dict[str, Any]:
    """Other minus base, pooled and in the mean over sequences."""
    found = {}
    for name, columns in STATISTICS.items():
        pooled = paired_difference(base, other, lambda sums, columns=columns: ratio(sums, *columns))
        found[name] = {
            "pooled": {**vars(pooled), "text": str(pooled)},
            "mean": mean_difference(ratio(base, *columns), ratio(other, *columns)),
        }
    return found


def summary(data: RNAData, folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Sensitivity and PPV by the criterion that chose the penalties and by length, and their differences."""
    lengths = np.array([len(sequence) for sequence in data.sequences])
    inside = {name: (lengths >= low) & (lengths <= high) for name, (low, high) in BINS.items()}
    found: dict[str, Any] = {"sequences": {name: int(part.sum()) for name, part in inside.items()}}
    for criterion in CRITERIA:
        counts = {loss: all_counts(data, folds, loss, criterion) for loss in LOSSES}
        found[criterion] = {
            name: {
                "losses": {loss: describe(rows[part]) for loss, rows in counts.items()},
                "differences": {
                    f"{better} minus {base}": compare(counts[base][part], counts[better][part])
                    for better, base in COMPARED
                },
            }
            for name, part in inside.items()
            if part.any()
        }
    return found


# --- the run ----------------------------------------------------------------------------------------------


def beginning(path: Path) -> dict[str, Any]:
    """The results so far."""
    settings = {"penalties": PENALTIES, "holdout": HOLDOUT}
    published = {"losses": PUBLISHED, "sequences": PUBLISHED_SEQUENCES}
    if not path.exists():
        return {"settings": settings, "published": published, "folds": [{}, {}]}
    result: dict[str, Any] = json.loads(path.read_text())
    if result["settings"] != settings:
        sys.exit(f"{path} has the settings {result['settings']}, expected {settings}: move it away")
    del result["machine"]
    return result


def report(result: dict[str, Any]) -> None:
    for name, row in result["summary"]["recall"].items():
        for loss, found in row["losses"].items():
            sensitivity, ppv = found["sensitivity"], found["ppv"]
            pooled, mean = (f"{sensitivity[how]:.3f} / {ppv[how]:.3f}" for how in ("pooled", "mean"))
            print(f"{name:8s} {loss:7s} pooled {pooled}  mean {mean}")
        for pair, found in row["differences"].items():
            texts = (f"{key} {found[key]['pooled']['text']}" for key in STATISTICS)
            print(f"{name:8s} {pair}: {', '.join(texts)}")


def main() -> None:
    data, quick = load_rna("rfam1359"), asked_to_be_quick(__doc__)
    if quick:
        data = data.take(s for s, sequence in enumerate(data.sequences) if len(sequence) <= 50)
    file = folder_for(NAME, quick) / f"{NAME}.json"
    result = beginning(file)
    with threadpool_limits(1):
        for record, (train, test) in zip(result["folds"], folds_of(data), strict=True):
            for loss in LOSSES:
                if loss not in record:
                    record[loss] = run(loss, data.take(train), data.take(test))
                    write(str(file.with_suffix("")), result)
    result["summary"] = summary(data, result["folds"])
    write(str(file.with_suffix("")), result)
    report(result)
    log(f"written to {file}")


if __name__ == "__main__":
    main()
