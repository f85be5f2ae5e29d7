"""Tables 1 to 3 of Foo, Do & Ng 2009 on the sets that could be had, and scikit-learn beside them.

    python benchmarks/flat_tables.py                     # about half an hour on one core
    python benchmarks/flat_tables.py --quick             # four small sets, two seeds, into a temporary folder
    python benchmarks/flat_tables.py --only vowel wine   # these sets anew, the others as they are
    python benchmarks/flat_tables.py --sensitivity       # accuracy over (alpha, beta) on the multinomial sets

Supplied test sets, else 30 % held out at random, the same for all methods, for several seeds. Dense features
are standardised on the training part. One thread. The grid is the papers': 21 values, 5 folds, every fit from
zero; beside it one with warm starts. Methods take turns on each split; seconds are medians over repeated fits
where a fit is short, and of one fit where it is long. Passes are evaluations of loss, gradient or a Hessian
product over all training data; a Hessian as a matrix counts by its multiplications, and factors do not count.
LogisticRegressionCV has its 10 values and as many shuffled folds, and chooses by accuracy; RidgeCV has the
21 values and leaves one out. Intervals are paired bootstraps over test examples of all splits, and over sets.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import ARDRegression, BayesianRidge, LinearRegression, LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import folder_for, mean_difference, parser_of, write
from structune import Classifier, Regressor
from structune.flat import UCI_SETS, load_uci
from structune.learning import GridTuner, MajorizeTuner
from structune.plots import plot_sensitivity

NAME = "flat_tables"
SEEDS, N_LARGEST = 5, 10
QUICK = ("housing", "heart", "wine", "pyrim")
REPEAT_BELOW, MOST_REPEATS = 0.3, 5  # seconds in all
NOT_IN_SENSITIVITY = {"letter", "shuttle", "usps"}
POWERS = tuple(2.0**k for k in range(-10, 11))
SENSITIVITY = tuple(2.0**k for k in range(-7, 12, 2))
# table 1: mean squared error; tables 2 and 3: accuracy in per cent
PUBLISHED: dict[str, dict[str, float]] = {
    "abalone": {"plain": 4.815, "grid": 4.970, "majorize_all": 4.821},
    "bodyfat": {"plain": 0.000, "grid": 0.000, "majorize_all": 0.000},
    "cpusmall": {"plain": 93.325, "grid": 93.506, "majorize_all": 93.381},
    "housing": {"plain": 24.111, "grid": 24.833, "majorize_all": 24.491},
    "mpg": {"plain": 10.759, "grid": 11.223, "majorize_all": 11.204},
    "pyrim": {"grid": 0.00355, "majorize_all": 0.00367},
    "space_ga": {"plain": 0.0190, "grid": 0.0190, "majorize_all": 0.0190},
    "triazines": {"grid": 0.0272, "majorize_all": 0.0247},
    "australian": {"grid": 86.96, "implicit": 86.47, "direct": 85.51, "majorize_all": 85.51},
    "breast-cancer": {"grid": 96.08, "implicit": 96.08, "direct": 96.57, "majorize_all": 96.57},
    "diabetes": {"grid": 76.52, "implicit": 76.96, "direct": 76.52, "majorize_all": 76.09},
    "german.numer": {"grid": 75.33, "implicit": 75.33, "direct": 75.00, "majorize_all": 75.00},
    "heart": {"grid": 83.95, "implicit": 87.65, "direct": 83.95, "majorize_all": 86.42},
    "ionosphere": {"grid": 83.81, "implicit": 82.86, "direct": 80.00, "majorize_all": 82.86},
    "liver-disorders": {"grid": 68.93, "implicit": 67.96, "direct": 67.96, "majorize_all": 65.05},
    "mushrooms": {"grid": 100.0, "implicit": 100.0, "direct": 100.0, "majorize_all": 100.0},
    "sonar": {"grid": 70.97, "implicit": 75.81, "direct": 66.13, "majorize_all": 70.97},
    "splice": {"grid": 73.24, "implicit": 85.47, "direct": 73.29, "majorize_all": 85.33},
    "w1a": {"grid": 97.32, "implicit": 97.83, "direct": 97.20, "majorize_all": 97.03},
    "dna": {"grid": 94.94, "implicit": 95.03, "direct": 95.11, "majorize_all": 95.11},
    "glass": {"grid": 64.06, "implicit": 65.62, "direct": 67.19, "majorize_all": 67.19},
    "iris": {"grid": 84.44, "implicit": 88.89, "direct": 82.22, "majorize_all": 93.33},
    "letter": {"grid": 75.62, "implicit": 77.34, "direct": 75.60, "majorize_all": 77.30},
    "satimage": {"grid": 83.25, "implicit": 83.65, "direct": 83.80, "majorize_all": 83.50},
    "segment": {"grid": 95.24, "implicit": 95.09, "direct": 93.51, "majorize_all": 93.51},
    "svmguide2": {"grid": 84.62, "implicit": 84.62, "direct": 60.68, "majorize_all": 60.68},
    "usps": {"grid": 92.08, "implicit": 91.98, "direct": 90.33, "majorize_all": 90.33},
    "vehicle": {"grid": 82.21, "implicit": 83.00, "direct": 82.21, "majorize_all": 83.00},
    "vowel": {"grid": 40.48, "implicit": 48.70, "direct": 40.91, "majorize_all": 48.27},
    "wine": {"grid": 98.11, "implicit": 98.11, "direct": 98.11, "majorize_all": 98.11},
}
PUBLISHED_PENALTY = {  # table 1: that of the grid, and of majorize
    "abalone": (1.0, 0.109),
    "bodyfat": (0.0625, 0.06),
    "cpusmall": (0.5, 0.16),
    "housing": (2.0, 1.04),
    "mpg": (1.0, 0.951),
    "pyrim": (8.0, 1.137),
    "space_ga": (0.00391, 0.00503),
    "triazines": (2.0, 26.579),
}
Make = Callable[[int], Any]
TUNINGS: dict[str, Any] = {
    "grid": GridTuner(POWERS),
    "grid_warm": GridTuner(POWERS[::-1], warm=True),  # from the stronger penalty, whose fits take less
    "implicit": "implicit",
    "direct": "direct",
    "majorize_all": MajorizeTuner(count="all"),  # as in the paper, also where weights are many
    "evidence": MajorizeTuner(calibrated=False),  # holds nothing out
    "majorize": "majorize",
}
CLASSIFIERS: dict[str, Make] = {
    **{
        name: lambda seed, tuning=tuning: Classifier(tuning=tuning, random_state=seed, n_jobs=1)
        for name, tuning in TUNINGS.items()
    },
    "LogisticRegressionCV": lambda seed: LogisticRegressionCV(
        Cs=10,
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        l1_ratios=(0,),
        use_legacy_attributes=False,
        scoring="accuracy",
    ),
    "LogisticRegressionCV_log_loss": lambda seed: LogisticRegressionCV(
        Cs=10,
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        l1_ratios=(0,),
        use_legacy_attributes=False,
        scoring="neg_log_loss",
    ),
}
REGRESSORS: dict[str, Make] = {
    "plain": lambda seed: LinearRegression(),
    **{
        name: lambda seed, tuning=tuning: Regressor(tuning=tuning, random_state=seed, n_jobs=1)
        for name, tuning in TUNINGS.items()
    },
    "majorize_ard": lambda seed: Regressor(groups="feature", n_jobs=1),
    "RidgeCV": lambda seed: RidgeCV(alphas=POWERS),
    "BayesianRidge": lambda seed: BayesianRidge(),
    "ARDRegression": lambda seed: ARDRegression(),
}


# --- one fit ----------------------------------------------------------------------------------------------


def split(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Training and test inputs, then outputs; dense inputs standardised on the training part."""
    data = load_uci(name)
    if data.test is None:
        strata = None if data.task == "regression" else data.y
        x, x_test, y, y_test = train_test_split(
            data.X, data.y, test_size=0.3, random_state=seed, stratify=strata
        )
    else:
        (x, y), (x_test, y_test) = (data.X, data.y), data.test
    if not issparse(x):
        scaler = StandardScaler().fit(x)
        x, x_test = scaler.transform(x), scaler.transform(x_test)
    return x, x_test, y, y_test


def timed(make: Make, seed: int, x: Any, y: Any) -> tuple[Any, float]:
    """The fitted model, and the median of its seconds."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < REPEAT_BELOW and len(seconds) < MOST_REPEATS):
        model = make(seed)
        start = time.perf_counter()
        model.fit(x, y)
        seconds.append(time.perf_counter() - start)
    return model, float(np.median(seconds))


def measure(make: Make, seed: int, parts: tuple[Any, Any, Any, Any]) -> tuple[dict[str, Any], Any]:
    """What a method reaches on a split, and what it costs; and the errors of the test examples."""
    x, x_test, y, y_test = parts
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, seconds = timed(make, seed, x, y)
    predicted = model.predict(x_test)
    is_regression = y.dtype.kind == "f"
    errors = ((predicted - y_test) ** 2 if is_regression else predicted != y_test).astype(float)
    record = {
        "error": float(np.mean(errors)),
        "standard_error": float(np.std(errors) / np.sqrt(len(errors))),
        "seconds": round(seconds, 6),
        "passes": round(model.passes_, 1) if hasattr(model, "passes_") else None,
        "penalty": penalty_of(model),
        "status": getattr(model, "status_", None),
        "warnings": sorted({type(w.message).__name__ for w in caught}),
        **({} if is_regression else of_probabilities(model, x_test, y_test)),
    }
    return record, errors


def of_probabilities(model: Any, x: Any, y: Any) -> dict[str, float]:
    """Log loss, and how far in 15 bins the most probable class is from being right as often as it says."""
    probability, right = model.predict_proba(x), np.searchsorted(model.classes_, y)
    surest = probability.max(axis=1)
    excess = (probability.argmax(axis=1) == right) - surest
    bins = np.minimum((15 * surest).astype(int), 14)
    gaps = np.abs(np.bincount(bins, excess))
    return {
        "log_loss": float(log_loss(right, probability, labels=np.arange(len(model.classes_)))),
        "calibration_error": float(gaps.sum() / len(y)),
    }


def penalty_of(model: Any) -> float | None:
    """The penalty where there is one for all weights, as the precision beside an undivided loss."""
    if hasattr(model, "penalty_"):
        return float(f"{model.penalty_[0]:.6g}") if len(model.penalty_) == 1 else None
    if isinstance(model, LogisticRegressionCV):
        return float(1 / model.C_)
    if isinstance(model, BayesianRidge):
        return float(model.lambda_ / model.alpha_)
    return float(model.alpha_) if isinstance(model, RidgeCV) else None


# --- one set ----------------------------------------------------------------------------------------------


def run_set(name: str, seeds: int) -> dict[str, Any]:
    """Every method on every split of a set."""
    data = load_uci(name)
    methods = REGRESSORS if data.task == "regression" else CLASSIFIERS
    n_splits = seeds if data.test is None else 1
    rows: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    errors: dict[str, list[Any]] = {method: [] for method in methods}
    for seed in range(n_splits):
        parts = split(name, seed)
        for method, make in methods.items():
            record, of_examples = measure(make, seed, parts)
            rows[method].append(record)
            errors[method].append(of_examples)
    pooled = {method: np.concatenate(found) for method, found in errors.items()}
    record = {
        "task": data.task,
        "n_examples": int(parts[0].shape[0]),
        "n_test": int(parts[1].shape[0]),
        "n_features": int(data.X.shape[1]),
        "n_classes": None if data.task == "regression" else len(np.unique(data.y)),
        "n_splits": n_splits,
        "methods": {method: describe(found) for method, found in rows.items()},
        "differences": {
            f"{method} minus {peer}": mean_difference(pooled[peer], pooled[method], n=1000)
            for method, peer in compared(methods)
        },
        "published": PUBLISHED.get(name, {}),
        "published_penalty": PUBLISHED_PENALTY.get(name),
    }
    told = ", ".join(
        f"{method} {row['error']['mean']:.4g} ({row['seconds']['median']:.3g} s)"
        for method, row in record["methods"].items()
    )
    print(f"{name}: {told}", file=sys.stderr, flush=True)
    return record


def compared(methods: dict[str, Make]) -> list[tuple[str, str]]:
    """Majorize and every other method; its one penalty a feature and scikit-learn's."""
    pairs = [
        ("majorize", peer) for peer in methods if peer not in ("majorize", "majorize_ard", "ARDRegression")
    ]
    return pairs + [("majorize_ard", "ARDRegression")] * ("ARDRegression" in methods)


def describe(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and spread over splits, and the splits themselves."""
    errors, seconds = np.array([row["error"] for row in rows]), [row["seconds"] for row in rows]
    passes = [row["passes"] for row in rows if row["passes"] is not None]
    of_probabilities = {
        name: float(np.mean([row[name] for row in rows]))
        for name in ("log_loss", "calibration_error")
        if name in rows[0]
    }
    return {
        **of_probabilities,
        "error": {"mean": float(errors.mean()), "sd": float(errors.std(ddof=1)) if len(rows) > 1 else None},
        "seconds": {"median": float(np.median(seconds))},
        "passes": {"median": float(np.median(passes)) if passes else None},
        "splits": rows,
    }


# --- what all sets say ------------------------------------------------------------------------------------


def times_faster(record: dict[str, Any], slow: str, fast: str) -> float:
    """Median over splits of the ratio of seconds."""
    a, b = (record["methods"][method]["splits"] for method in (slow, fast))
    return float(np.median([x["seconds"] / y["seconds"] for x, y in zip(a, b, strict=True)]))


def summary(sets: dict[str, Any]) -> dict[str, Any]:
    """Medians over the sets of a task, and over the largest for classification."""
    found = {}
    for task in UCI_SETS:
        records = {name: record for name, record in sets.items() if record["task"] == task}
        if records:
            methods = REGRESSORS if task == "regression" else CLASSIFIERS
            pairs = compared(methods)
            found[task] = {f"{method} minus {peer}": against(records, method, peer) for method, peer in pairs}
            found[task]["implicit_times_faster_than_grid"] = {
                name: times_faster(record, "grid", "implicit") for name, record in records.items()
            }
    flat = {name: record for name, record in sets.items() if record["task"] != "regression"}
    if flat:
        names = sorted(flat, key=lambda name: flat[name]["n_examples"] * flat[name]["n_features"])[
            -N_LARGEST:
        ]
        largest = {name: flat[name] for name in names}
        found["largest"] = against(largest, "majorize", "LogisticRegressionCV")
    return found


def against(records: dict[str, Any], method: str, peer: str) -> dict[str, Any]:
    """Costs and errors of a method beside those of another, over some sets."""
    ratios = {name: times_faster(record, peer, method) for name, record in records.items()}
    rows = {name: record["differences"][f"{method} minus {peer}"] for name, record in records.items()}
    excess = [row["value"] for row in rows.values()]
    within = [rows[name]["value"] <= standard_error(record, peer) for name, record in records.items()]
    passes = [
        record["methods"][peer]["passes"]["median"] / record["methods"][method]["passes"]["median"]
        for record in records.values()
        if record["methods"][peer]["passes"]["median"]
    ]
    return {
        "times_faster": {"median": float(np.median(list(ratios.values()))), "by_set": ratios},
        "times_fewer_passes": float(np.median(passes)) if passes else None,
        "mean_excess_error": mean_difference(np.zeros(len(excess)), excess),
        "within_one_standard_error": f"{sum(within)} of {len(within)}",
        "worse_on": [name for name, row in rows.items() if row["low"] > 0],
        "better_on": [name for name, row in rows.items() if row["high"] < 0],
    }


def standard_error(record: dict[str, Any], method: str) -> float:
    """Of a method's error on one split, from its test examples."""
    return float(np.mean([row["standard_error"] for row in record["methods"][method]["splits"]]))


# --- alpha and beta ---------------------------------------------------------------------------------------


def sensitivity(names: list[str]) -> dict[str, Any]:
    """Test accuracy for all pairs of alpha and beta; rows are alpha."""
    found = {}
    for name in names:
        parts = split(name, 0)
        table = [[accuracy(alpha, beta, parts) for beta in SENSITIVITY] for alpha in SENSITIVITY]
        found[name] = table
        print(f"{name}: {np.min(table):.3f} to {np.max(table):.3f}", file=sys.stderr, flush=True)
    return {"alpha": SENSITIVITY, "beta": SENSITIVITY, "accuracy": found}


def accuracy(alpha: float, beta: float, parts: tuple[Any, Any, Any, Any]) -> float:
    x, x_test, y, y_test = parts
    model = Classifier(tuning=MajorizeTuner(alpha=alpha, beta=beta, count="all"), n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapse is what this is about
        return float(model.fit(x, y).score(x_test, y_test))


# --- the run ----------------------------------------------------------------------------------------------


def parsed() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", nargs="+", metavar="SET", default=None)
    parser.add_argument("--sensitivity", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    folder = folder_for(NAME, arguments.quick)
    Classifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])  # compiles outside the times
    with threadpool_limits(1):
        if arguments.sensitivity:
            names = arguments.only or [n for n in UCI_SETS["multiclass"] if n not in NOT_IN_SENSITIVITY]
            found = sensitivity(names)
            write(str(folder / "flat_sensitivity"), found, "scikit-learn")
            plot_sensitivity(found["accuracy"], SENSITIVITY, SENSITIVITY, folder / "flat_sensitivity.png")
            return
        run_tables(arguments, folder)


def run_tables(arguments: argparse.Namespace, folder: Path) -> None:
    everything = [name for names in UCI_SETS.values() for name in names]
    names = arguments.only or (QUICK if arguments.quick else everything)
    path = folder / f"{NAME}.json"
    sets = json.loads(path.read_text())["sets"] if arguments.only and path.exists() else {}
    for name in names:
        sets[name] = run_set(name, 2 if arguments.quick else arguments.seeds)
        ordered = {known: sets[known] for known in everything if known in sets}
        write(str(path.with_suffix("")), {"summary": summary(ordered), "sets": ordered}, "scikit-learn")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
