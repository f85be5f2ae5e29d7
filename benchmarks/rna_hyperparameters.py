"""Figure 3 of Do, Foo & Ng 2007 and tables 3b and 4 of Foo, Do & Ng 2009: hyperparameters of RNA folding.

    python benchmarks/rna_hyperparameters.py --splits 3    # over an hour for the first split, then 20 minutes
    python benchmarks/rna_hyperparameters.py --quick       # 20 short sequences, into a temporary folder
    python benchmarks/rna_hyperparameters.py --heldout     # compares what the implicit gradient may hold out

Each split cuts S151Rfam at random in two folds; every method learns from one and is tested on the other, and
back. What tuning holds out lies inside the training fold. Structures outside the model's space are left out
of training and of the log loss; they count, like all, in sensitivity and PPV. A run goes on where the results
end: with the methods that a split lacks. Passes are evaluations of the loss, its gradient or a product with
its Hessian, over the whole training fold; such a product takes as long as three gradients. The grid with cold
starts, more than half of the time, runs on the first split only: with warm starts it tries the same points.
What the implicit gradient holds out was chosen by --heldout, on other splits of the same sequences.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import RESULTS, contrafold_parameters, pack, parser_of, unpack, write
from structune import RNAFolder
from structune.learning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner, paired_difference
from structune.plots import plot_precisions_by_method
from structune.rna import (
    RNA,
    ROC_GAMMAS,
    OutsideSpaceWarning,
    RNAData,
    base_pair_scores,
    load_rna,
    plot_sensitivity_ppv,
    roc_area,
)

Array = NDArray[Any]
NAME = "rna_hyperparameters"
HELDOUT: dict[str, dict[str, Any]] = {
    "a fifth": {"cv": 0.2},
    "a third": {"cv": 1 / 3},
    "2 folds": {"cv": 2},
    "3 folds": {"cv": 3},
    "5 folds": {"cv": 5},
}
IMPLICIT_HELDOUT = "2 folds"  # --heldout: as good as more of them, at a third of the cost
HELDOUT_SEEDS = (1000, 1001)  # of splits that no table uses


@dataclass(frozen=True)
class Method:
    """How to fit: parameters of `RNAFolder`."""

    label: str
    groups: str = "single"
    tuning: Any = None
    heldout: dict[str, Any] = field(default_factory=dict)


def implicit(label: str, groups: str, heldout: str = IMPLICIT_HELDOUT) -> Method:
    return Method(f"implicit, {label}", groups, ImplicitTuner(), HELDOUT[heldout])


def grid(label: str, warm: bool) -> Method:
    """The papers' 21 values; warm starts come from the stronger penalty, whose fits take less."""
    values = tuple(2.0**k for k in range(-10, 11))
    tuner = GridTuner(values[::-1] if warm else values, warm=warm)
    return Method(label, "single", tuner, {"cv": 5})


METHODS = {
    "fixed": Method("C = 1"),
    "contrafold": Method("CONTRAfold's parameters"),
    "implicit_single": implicit("single", "single"),
    "implicit_separate": implicit("separate", "separate"),
    "implicit_grouped": implicit("grouped", "kind"),
    "majorize_single": Method("MM, single", "single", MajorizeTuner()),
    "majorize_grouped": Method("MM, grouped", "kind", MajorizeTuner()),
    "direct_single": Method("direct, single", "single", DirectTuner()),
    "direct_grouped": Method("direct, grouped", "kind", DirectTuner()),
    "grid_warm": grid("grid, warm starts", warm=True),
    "grid": grid("grid", warm=False),
}
COMPARED = (
    ("implicit_grouped", "implicit_single"),
    ("implicit_separate", "implicit_single"),
    ("majorize_grouped", "majorize_single"),
    ("direct_grouped", "direct_single"),
    ("implicit_grouped", "grid_warm"),
    ("majorize_grouped", "grid_warm"),
    ("majorize_grouped", "implicit_grouped"),
    ("majorize_grouped", "direct_grouped"),
)
CURVES = ("implicit_single", "implicit_separate", "implicit_grouped", "majorize_grouped", "direct_grouped")
FIGURE_3B = {  # implicit gradient, folds A and B of Do et al. 2007; MM, those of Foo et al. 2009
    "hairpin lengths": ((0.0832, 0.456), (0.886, 0.953)),
    "helix closing pairs": ((0.780, 0.0947), (0.302, 0.380)),
    "symmetric internal lengths": ((6.32, 0.0151), (6.617, 6.511)),
    "external lengths": ((0.338, 0.401), (0.833, 0.779)),
    "bulge lengths": ((0.451, 2.03), (5.903, 6.200)),
    "base pairings": ((2.01, 7.95), (1.047, 1.129)),
    "internal asymmetry": ((4.24, 6.90), (9.798, 10.967)),
    "explicit internal sizes": ((12.8, 6.39), (3.891, 3.478)),
    "terminal mismatches": ((132.0, 50.2), (126.280, 124.953)),
    "dangles": ((71.0, 104.0), (61.294, 62.128)),
    "1x1 nucleotides": ((139.0, 120.0), (6.236, 6.571)),
    "single base bulge nucleotides": ((136.0, 130.0), (1.261, 1.241)),
    "internal lengths": ((1990.0, 35.3), (9.626, 8.792)),
    "multi-branch": ((359.0, 2750.0), (0.329, 0.312)),
    "helix stacking": ((12100.0, 729.0), (67.288, 65.758)),
}
PUBLISHED: dict[str, Any] = {
    "do_foo_ng_2007": {
        "roc_area": {"implicit_single": 0.6169, "implicit_separate": 0.6383, "implicit_grouped": 0.6406},
        "log_loss": {"implicit_single": 5916, "implicit_separate": 5763, "implicit_grouped": 5531},
    },
    "foo_do_ng_2009": {
        "roc_area": {
            "implicit_single": 0.619,
            "implicit_grouped": 0.638,
            "majorize_single": 0.603,
            "majorize_grouped": 0.633,
            "direct_single": 0.603,
            "direct_grouped": 0.612,
        }
    },
    "precision": {
        "implicit_grouped": [{name: rows[0][fold] for name, rows in FIGURE_3B.items()} for fold in (0, 1)],
        "majorize_grouped": [{name: rows[1][fold] for name, rows in FIGURE_3B.items()} for fold in (0, 1)],
    },
    "note": "other folds, which are unknown; log loss of all 151 sequences, with hairpins of any length",
}


@dataclass(frozen=True)
class Settings:
    min_hairpin: int = 3
    gammas: tuple[float, ...] = ROC_GAMMAS
    jobs: int = 2


def log(text: str, start: float = time.perf_counter()) -> None:
    print(f"{time.perf_counter() - start:7.0f} s  {text}", file=sys.stderr, flush=True)


# --- one method on one split ------------------------------------------------------------------------------


def folds_of(n: int, seed: int) -> list[tuple[Array, Array]]:
    """Training and test examples, there and back."""
    a, b = np.array_split(np.random.default_rng(seed).permutation(n), 2)
    return [(np.sort(a), np.sort(b)), (np.sort(b), np.sort(a))]


def fit(method: Method, train: RNAData, settings: Settings) -> RNAFolder:
    common = {"min_hairpin": settings.min_hairpin, "n_jobs": settings.jobs}
    if method is METHODS["contrafold"]:
        return RNAFolder.from_contrafold(contrafold_parameters(), **common)
    folder = RNAFolder(groups=method.groups, tuning=method.tuning, **method.heldout, **common)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideSpaceWarning)  # they are counted
        return folder.fit(train.sequences, train.structures)


def pair_counts(folder: RNAFolder, data: RNAData, gammas: tuple[float, ...]) -> Array:
    """Predicted pairs and right ones of each sequence for each gamma, shape (n, n_gammas, 2)."""
    scores = [
        base_pair_scores(data.structures, predicted)
        for predicted in folder.predict_mea(data.sequences, gammas)
    ]
    return np.stack([np.column_stack([s.n_predicted, s.right_predicted]) for s in scores], axis=1)


def precisions(folder: RNAFolder) -> dict[str, float]:
    """The learned precisions by group; of one a weight, the geometric means of the papers' groups."""
    names, values = folder.group_names_, folder.penalty_
    if folder.groups == "separate":
        groups = folder.rna_.groups()
        names, values = groups.names, np.exp(groups.sum(np.log(values)) / groups.sizes)
    return {name: float(f"{value:.6g}") for name, value in zip(names, values, strict=True)}


def run_method(name: str, data: RNAData, seed: int, settings: Settings) -> dict[str, Any]:
    """The record of one method on one split."""
    counts = np.zeros((len(data), len(settings.gammas), 2), np.uint16)
    losses, rows = np.zeros(len(data)), []
    for fold, (train, test) in zip("AB", folds_of(len(data), seed), strict=True):
        start = time.perf_counter()
        folder = fit(METHODS[name], data.take(train), settings)
        seconds = time.perf_counter() - start
        tested = data.take(test)
        losses[test] = folder.log_loss(tested.sequences, tested.structures)
        counts[test] = pair_counts(folder, tested, settings.gammas)
        rows.append(fold_record(folder, seconds, losses[test]))
        done = " ".join(f"{key} {value}" for key, value in rows[-1].items() if key != "precision")
        log(f"split {seed} fold {fold} {name}: {done}")
    record: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0]}
    record |= {"counts": pack(counts), "losses": pack(losses)}
    return record


def fold_record(folder: RNAFolder, seconds: float, losses: Array) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 2),
        "passes": round(folder.passes_, 1),
        "hessian_products": sum(row.get("hessian_products", 0) for row in folder.history_),
        "status": folder.status_,
        "n_skipped_in_training": len(folder.skipped_),
        "test_log_loss": round(float(losses[np.isfinite(losses)].sum()), 3),
        "precision": precisions(folder),
    }


# --- what all splits say ----------------------------------------------------------------------------------


class Splits:
    """The records of some splits, as arrays."""

    def __init__(self, data: RNAData, records: list[dict[str, Any]]) -> None:
        self.n = len(data)
        self.n_true = base_pair_scores(data.structures, data.structures).n_true
        self.records = [record["methods"] for record in records]

    def having(self, *names: str) -> list[dict[str, Any]]:
        """The splits that have all of some methods."""
        return [record for record in self.records if all(name in record for name in names)]

    def counts(self, name: str, records: list[dict[str, Any]]) -> Array:
        """The true pairs, then those of `pair_counts`, split by split; shape (n_sequences, n_counts)."""
        columns = [unpack(record[name]["counts"], "u2", self.n) for record in records]
        return np.column_stack([self.n_true, *columns]).astype(np.float64)

    def losses(self, name: str, records: list[dict[str, Any]]) -> Array:
        """Of the sequences in the model's space, shape (n_inside, n_splits)."""
        losses = np.hstack([unpack(record[name]["losses"], "f8", self.n) for record in records])
        return losses[np.all(np.isfinite(losses), axis=1)]


def curve(n_true: float, counts: Array) -> dict[str, list[float]]:
    """Sensitivity and PPV for the gammas that predict anything, from sums of `pair_counts`."""
    predicted, right = counts[counts[:, 0] > 0].T
    return {"sensitivity": (right / n_true).tolist(), "ppv": (right / predicted).tolist()}


def areas(sums: Array, n_splits: int) -> Array:
    """ROC area of each split, from sums of `Splits.counts` over sequences."""
    return np.array([roc_area(**curve(sums[0], part)) for part in sums[1:].reshape(n_splits, -1, 2)])


def mean_area(sums: Array, n_splits: int) -> Array:
    """Mean over splits of the ROC area; the last axis is that of `Splits.counts`."""
    rows = sums.reshape(-1, sums.shape[-1])
    return np.array([areas(row, n_splits).mean() for row in rows]).reshape(sums.shape[:-1])


def spread(values: Any) -> dict[str, float]:
    row = np.asarray(values, dtype=np.float64)
    deviation = float(row.std(ddof=1)) if row.size > 1 else 0.0
    return {"mean": float(row.mean()), "standard_deviation": deviation}


def describe(name: str, splits: Splits) -> dict[str, Any]:
    """Mean and spread over splits of what one method reached, and of what it cost."""
    records = splits.having(name)
    losses, sums = splits.losses(name, records), splits.counts(name, records).sum(axis=0)
    pooled = sums[1:].reshape(len(records), -1, 2).sum(axis=0)
    logs = [np.log(list(fold.values())) for r in records for fold in r[name]["precision"]]
    groups = records[0][name]["precision"][0]
    return {
        "label": METHODS[name].label,
        "n_splits": len(records),
        "roc_area": spread(areas(sums, len(records))),
        "test_log_loss": spread(losses.sum(axis=0)),
        "n_sequences_in_log_loss": len(losses),
        "seconds": spread([sum(record[name]["seconds"]) for record in records]),
        "passes": spread([sum(record[name]["passes"]) for record in records]),
        "hessian_products": spread([sum(record[name]["hessian_products"]) for record in records]),
        "curve": curve(sums[0] * len(records), pooled),
        "precision": {
            group: {"geometric_mean": float(np.exp(row.mean())), "sd_of_log2": float(row.std() / np.log(2))}
            for group, row in zip(groups, np.array(logs).T, strict=True)
        },
    }


def compare(better: str, base: str, splits: Splits) -> dict[str, Any]:
    """Paired differences with intervals over sequences, each the mean over splits."""
    records = splits.having(better, base)

    def statistic(sums: Array) -> Array:
        return mean_area(sums, len(records))

    area = paired_difference(splits.counts(base, records), splits.counts(better, records), statistic, n=1000)
    loss = paired_difference(
        splits.losses(base, records), splits.losses(better, records), lambda sums: sums.mean(axis=-1)
    )
    costs = [[sum(record[name]["seconds"]) for record in records] for name in (better, base)]
    return {
        "better": better,
        "base": base,
        "n_splits": len(records),
        "roc_area": {**vars(area), "text": str(area)},
        "test_log_loss": {**vars(loss), "text": str(loss)},
        "seconds_of_base_over_better": float(np.median(np.divide(costs[1], costs[0]))),
    }


def summary(data: RNAData, result: dict[str, Any]) -> dict[str, Any]:
    splits = Splits(data, result["splits"])
    pairs = [pair for pair in COMPARED if splits.having(*pair)]
    return {
        "methods": {name: describe(name, splits) for name in METHODS if splits.having(name)},
        "differences": [compare(*pair, splits) for pair in pairs],
    }


# --- figures ----------------------------------------------------------------------------------------------


def plot(result: dict[str, Any], folder: Path) -> None:
    """Figures 3b, learned precisions in each fold of all splits, and 3c, the curves of all splits pooled."""
    learned: dict[str, Array] = {}
    for name in ("implicit_grouped", "majorize_grouped"):
        records = [split["methods"][name] for split in result["splits"] if name in split["methods"]]
        folds = [fold for record in records for fold in record["precision"]]
        for label, rows in (("", folds), (", published", PUBLISHED["precision"][name])):
            if rows:
                table = np.array([[row[group] for group in FIGURE_3B] for row in rows])
                learned[METHODS[name].label + label] = table
    plot_precisions_by_method(list(FIGURE_3B), learned, folder / f"{NAME}.png")
    found = result["summary"]["methods"]
    names = [name for name in (*CURVES, "grid_warm", "contrafold") if name in found]
    curves = {METHODS[n].label: (found[n]["curve"]["sensitivity"], found[n]["curve"]["ppv"]) for n in names}
    if curves:
        plot_sensitivity_ppv(curves, folder / f"{NAME}_curves.png")


# --- what to hold out -------------------------------------------------------------------------------------


def heldout_loss(train: RNAData, option: str, groups: str, settings: Settings) -> tuple[float, float]:
    """Log loss a sequence on a third of a training fold, tuned and trained on the rest of it; and seconds."""
    first, *others = np.array_split(np.random.default_rng(0).permutation(len(train)), 3)
    inner, test = train.take(np.sort(np.concatenate(others))), train.take(np.sort(first))
    start = time.perf_counter()
    folder = fit(implicit("", groups, option), inner, settings)
    seconds = time.perf_counter() - start
    losses = folder.log_loss(test.sequences, test.structures)
    return float(losses[np.isfinite(losses)].mean()), seconds


def compare_heldout(data: RNAData, settings: Settings) -> list[dict[str, Any]]:
    """What each way to hold out gives inside training folds of splits that no table uses."""
    rows = []
    for groups in ("kind", "separate"):
        for option in HELDOUT:
            parts = [data.take(train) for seed in HELDOUT_SEEDS for train, _ in folds_of(len(data), seed)]
            losses, seconds = zip(
                *(heldout_loss(part, option, groups, settings) for part in parts), strict=True
            )
            rows.append({"heldout": option, "groups": groups, "log_loss": losses, "seconds": seconds})
            log(f"{option}, {groups}: {np.round(losses, 3)} a sequence, {np.mean(seconds):.0f} s")
    return rows


# --- the run ----------------------------------------------------------------------------------------------


def warm_up(data: RNAData, settings: Settings) -> None:
    """Compile all kernels outside the times."""
    few = data.take(np.argsort([len(s) for s in data.sequences])[10:20])
    folder = fit(Method("", "kind", ImplicitTuner(max_evaluations=1), {"cv": 2}), few, settings)
    folder.predict(few.sequences)
    log("kernels are ready")


def todo(result: dict[str, Any], n_splits: int, methods: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Splits and the methods that they lack."""
    known = {split["seed"]: split for split in result["splits"]}
    for seed in range(n_splits):
        if seed not in known:
            known[seed] = {"seed": seed, "methods": {}}
            result["splits"].append(known[seed])
        for name in methods:
            if name not in known[seed]["methods"] and (name != "grid" or seed == 0):
                yield known[seed], name


def beginning(path: Path, data: RNAData, settings: Settings) -> dict[str, Any]:
    """The results so far."""
    rna = RNA(settings.min_hairpin)
    offend = [bool(rna.offences(*pair)) for pair in zip(data.sequences, data.structures, strict=True)]
    expected = {"min_hairpin": settings.min_hairpin, "implicit_heldout": IMPLICIT_HELDOUT}
    if not path.exists():
        return {
            "settings": expected,
            "n_sequences": len(data),
            "n_outside_the_space": sum(offend),
            "published": PUBLISHED,
            "splits": [],
        }
    result: dict[str, Any] = json.loads(path.read_text())
    if result["settings"] != expected:
        sys.exit(f"{path} has the settings {result['settings']}, expected {expected}: move it away")
    del result["machine"]
    return result


def report(result: dict[str, Any]) -> None:
    for name, row in result["summary"]["methods"].items():
        area, loss, cost, passes = (
            row[k]["mean"] for k in ("roc_area", "test_log_loss", "seconds", "passes")
        )
        print(f"{name:18s} area {area:.4f}  log loss {loss:7.1f}  {cost:7.1f} s  {passes:7.0f} passes")
    for row in result["summary"]["differences"]:
        area, loss = row["roc_area"]["text"], row["test_log_loss"]["text"]
        print(f"{row['better']} - {row['base']}: area {area}, log loss {loss}")


def parsed() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME")
    parser.add_argument("--min-hairpin", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--heldout", action="store_true", help="only compare ways to hold out data")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    data, folder = load_rna("s151rfam"), RESULTS
    settings = Settings(arguments.min_hairpin, jobs=arguments.jobs)
    if arguments.quick:
        data = data.take(np.argsort([len(sequence) for sequence in data.sequences], kind="stable")[:20])
        settings = Settings(arguments.min_hairpin, ROC_GAMMAS[::4], arguments.jobs)
        folder = Path(tempfile.mkdtemp(prefix=NAME))
    warm_up(data, settings)
    path = folder / f"{NAME}.json"
    result = beginning(path, data, settings)
    if arguments.heldout:
        result["heldout"] = compare_heldout(data, settings)
        write(str(path.with_suffix("")), result, "scikit-learn")
        return
    for split, name in todo(result, arguments.splits, arguments.methods):
        split["methods"][name] = run_method(name, data, split["seed"], settings)
        result["summary"] = summary(data, result)
        write(str(path.with_suffix("")), result, "scikit-learn")
    plot(result, folder)
    report(result)
    log(f"written to {folder}")


if __name__ == "__main__":
    main()
