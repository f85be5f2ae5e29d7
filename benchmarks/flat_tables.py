"""Tables 1 to 3 of Foo, Do & Ng 2009 on the sets that could be had, and scikit-learn beside them.

    python benchmarks/flat_tables.py                     # about half an hour on one core
    python benchmarks/flat_tables.py --quick             # four small sets, two seeds, into a temporary folder
    python benchmarks/flat_tables.py --only vowel wine   # these sets anew, the others as they are
    python benchmarks/flat_tables.py --sensitivity       # accuracy over (alpha, beta) on the multinomial sets

Supplied test sets, else 30 % held out at random, the same for all methods, for several seeds. Dense features
are standardised on the training part. One thread. The grid is the papers': 21 values, 5 folds, every fit from
zero; beside it one with warm starts. Seconds are medians over repeated fits where a fit is short. Passes are
evaluations of loss, gradient or a Hessian product over all training data; a Hessian as a matrix counts by its
multiplications.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ARDRegression, BayesianRidge, LinearRegression, LogisticRegressionCV, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import RESULTS, write
from structune import Classifier, Regressor
from structune.datasets import UCI_SETS, load_uci
from structune.plots import plot_sensitivity
from structune.tuning import GridTuner, MajorizeTuner

NAME = "flat_tables"
SEEDS, N_LARGEST = 5, 10
QUICK = ("housing", "heart", "wine", "pyrim")
REPEAT_BELOW, MOST_REPEATS = 0.3, 5  # seconds in all
SKLEARN_SLOW = {"letter", "shuttle", "usps"}
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
Make = Callable[[int], Any]
TUNINGS: dict[str, Any] = {
    "grid": GridTuner(POWERS),
    "grid_warm": GridTuner(POWERS[::-1], warm=True),  # from the stronger penalty, whose fits take less
    "implicit": "implicit",
    "direct": "direct",
    "majorize_all": MajorizeTuner(count="all"),  # as in the paper, also where weights are many
    "majorize": "majorize",
}
CLASSIFIERS: dict[str, Make] = {
    **{
        name: lambda seed, tuning=tuning: Classifier(tuning=tuning, random_state=seed, n_jobs=1)
        for name, tuning in TUNINGS.items()
    },
    "LogisticRegressionCV": lambda seed: LogisticRegressionCV(
        Cs=10, cv=5, l1_ratios=(0,), use_legacy_attributes=False, scoring="accuracy"
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


def measure(make: Make, seed: int, parts: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """What a method reaches on a split, and what it costs."""
    x, x_test, y, y_test = parts
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, seconds = timed(make, seed, x, y)
    predicted = model.predict(x_test)
    is_regression = y.dtype.kind == "f"
    errors = (predicted - y_test) ** 2 if is_regression else predicted != y_test
    return {
        "error": float(np.mean(errors)),
        "standard_error": float(np.std(errors) / np.sqrt(len(errors))),
        "seconds": round(seconds, 6),
        "passes": round(model.passes_, 1) if hasattr(model, "passes_") else None,
        "penalty": penalty_of(model),
        "status": getattr(model, "status_", None),
        "warnings": sorted({type(w.message).__name__ for w in caught}),
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
    for seed in range(n_splits):
        parts = split(name, seed)
        for method, make in methods.items():
            rows[method].append(measure(make, seed, parts))
    record = {
        "task": data.task,
        "n_examples": int(parts[0].shape[0]),
        "n_test": int(parts[1].shape[0]),
        "n_features": int(data.X.shape[1]),
        "n_classes": None if data.task == "regression" else len(np.unique(data.y)),
        "n_splits": n_splits,
        "methods": {method: describe(found) for method, found in rows.items()},
        "published": PUBLISHED.get(name, {}),
    }
    told = ", ".join(
        f"{method} {row['error']['mean']:.4g} ({row['seconds']['median']:.3g} s)"
        for method, row in record["methods"].items()
    )
    print(f"{name}: {told}", file=sys.stderr, flush=True)
    return record


def describe(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and spread over splits, and the splits themselves."""
    errors, seconds = np.array([row["error"] for row in rows]), [row["seconds"] for row in rows]
    return {
        "error": {"mean": float(errors.mean()), "sd": float(errors.std(ddof=1)) if len(rows) > 1 else 0.0},
        "seconds": {"median": float(np.median(seconds))},
        "splits": rows,
    }


# --- what all sets say ------------------------------------------------------------------------------------


def times_faster(record: dict[str, Any], slow: str, fast: str = "majorize") -> float:
    """Median over splits of the ratio of seconds."""
    a, b = (record["methods"][method]["splits"] for method in (slow, fast))
    return float(np.median([x["seconds"] / y["seconds"] for x, y in zip(a, b, strict=True)]))


def excess(record: dict[str, Any], base: str, method: str = "majorize") -> dict[str, float]:
    """How much higher the error of a method is, and the standard error of the base's on one split."""
    a, b = (record["methods"][name]["splits"] for name in (base, method))
    differences = [y["error"] - x["error"] for x, y in zip(a, b, strict=True)]
    return {
        "difference": float(np.mean(differences)),
        "standard_error": float(np.mean([x["standard_error"] for x in a])),
    }


def summary(sets: dict[str, Any]) -> dict[str, Any]:
    """Medians over the sets of a kind."""
    found = {}
    kinds = {"classification": ("binary", "multiclass"), **{task: (task,) for task in UCI_SETS}}
    for kind, tasks in kinds.items():
        records = {name: record for name, record in sets.items() if record["task"] in tasks}
        if not records:
            continue
        peers = [m for m in next(iter(records.values()))["methods"] if m not in ("majorize", "plain")]
        found[kind] = {peer: against(records, peer) for peer in peers}
    largest = sorted(
        (name for name, record in sets.items() if record["task"] != "regression"),
        key=lambda name: sets[name]["n_examples"] * sets[name]["n_features"],
    )[-N_LARGEST:]
    if largest:
        found["largest"] = {
            "LogisticRegressionCV": against({n: sets[n] for n in largest}, "LogisticRegressionCV")
        }
    return found


def against(records: dict[str, Any], peer: str) -> dict[str, Any]:
    ratios = {name: times_faster(record, peer) for name, record in records.items()}
    errors = {name: excess(record, peer) for name, record in records.items()}
    within = [row["difference"] <= row["standard_error"] for row in errors.values()]
    return {
        "times_faster": {"median": float(np.median(list(ratios.values()))), "by_set": ratios},
        "excess_error": errors,
        "mean_excess_error": float(np.mean([row["difference"] for row in errors.values()])),
        "within_one_standard_error": f"{sum(within)} of {len(within)}",
        "implicit_times_faster": {name: times_faster(r, peer, "implicit") for name, r in records.items()},
    }


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", nargs="+", metavar="SET", default=None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sensitivity", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    folder = Path(tempfile.mkdtemp(prefix=NAME)) if arguments.quick else RESULTS
    warnings.simplefilter("ignore", ConvergenceWarning)
    Classifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])  # compiles outside the times
    with threadpool_limits(1):
        if arguments.sensitivity:
            names = arguments.only or [n for n in UCI_SETS["multiclass"] if n not in SKLEARN_SLOW]
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
