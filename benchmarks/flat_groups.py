"""Whether penalties by block of features pay, where blocks differ in how much they tell.

    python benchmarks/flat_groups.py            # ten minutes on one core
    python benchmarks/flat_groups.py --quick    # two draws, into a temporary folder

Simulated: 200 examples of two classes; the log odds are a sum over 10 strong features (coefficients of
standard deviation 1) and 40 weak ones (0.15), beside which there are features without meaning. Real: 500
digits of USPS, with their 256 pixels, 256 random projections of the pixels, and columns of noise; its own
test set. Every method sees the same draws. "feature" gives each feature a penalty of its own (ARD).
Intervals are those of the choice of training data: bootstraps over draws.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, mean_difference, write
from structune import Classifier
from structune.flat import load_uci
from structune.learning import GridTuner

NAME = "flat_groups"
N_NOISE = {"simulated": (0, 50, 100, 200, 400), "usps": (0, 256, 1024)}
DRAWS, N_TRAIN, N_TEST = {"simulated": 20, "usps": 10}, {"simulated": 200, "usps": 500}, 5000
WARM_GRID = GridTuner(tuple(2.0**k for k in range(10, -11, -1)), warm=True)
METHODS: dict[str, dict[str, Any]] = {
    "grid": {"tuning": WARM_GRID},
    "majorize, single": {"tuning": "majorize"},
    "majorize, feature": {"tuning": "majorize", "groups": "feature"},
    "majorize, grouped": {"tuning": "majorize", "groups": "blocks"},
    "implicit, single": {"tuning": "implicit"},
    "implicit, grouped": {"tuning": "implicit", "groups": "blocks"},
}
COMPARED = (
    ("majorize, grouped", "majorize, single"),
    ("majorize, grouped", "grid"),
    ("implicit, grouped", "implicit, single"),
    ("implicit, grouped", "grid"),
)
Parts = tuple[
    Any, Any, Any, Any, list[str]
]  # training and test inputs and outputs, and the block of each feature


def simulated(n_noise: int, seed: int) -> Parts:
    rng = np.random.default_rng([seed, n_noise])
    blocks = ["strong"] * 10 + ["weak"] * 40 + ["noise"] * n_noise
    w = np.concatenate([rng.normal(0, 1, 10), rng.normal(0, 0.15, 40), np.zeros(n_noise)])
    x = rng.normal(size=(N_TRAIN["simulated"] + N_TEST, len(blocks)))
    y = (rng.random(len(x)) < 1 / (1 + np.exp(-x @ w))).astype(int)
    n = N_TRAIN["simulated"]
    return x[:n], x[n:], y[:n], y[n:], blocks


def usps(n_noise: int, seed: int) -> Parts:
    data, rng = load_uci("usps"), np.random.default_rng([seed, n_noise])
    assert data.test is not None
    chosen = rng.permutation(len(data.y))[: N_TRAIN["usps"]]
    projection = rng.normal(size=(data.X.shape[1], 256)) / 16.0

    def columns(pixels: Any) -> Any:
        return np.hstack([pixels, pixels @ projection, rng.normal(size=(len(pixels), n_noise))])

    scaler = StandardScaler()
    x, x_test = scaler.fit_transform(columns(data.X[chosen])), scaler.transform(columns(data.test[0]))
    blocks = ["pixels"] * 256 + ["projections"] * 256 + ["noise"] * n_noise
    return x, x_test, data.y[chosen], data.test[1], blocks


PROBLEMS: dict[str, Callable[[int, int], Parts]] = {"simulated": simulated, "usps": usps}


def fit(options: dict[str, Any], parts: Parts) -> dict[str, Any]:
    """Test error, seconds and penalties of a method on a draw."""
    x, x_test, y, y_test, blocks = parts
    options = {**options, "groups": blocks} if options.get("groups") == "blocks" else options
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Classifier(n_jobs=1, **options).fit(x, y)
    seconds = time.perf_counter() - start
    known = len(model.penalty_) <= 3
    return {
        "error": float(np.mean(model.predict(x_test) != y_test)),
        "seconds": round(seconds, 4),
        "penalty": dict(zip(model.group_names_, np.round(model.penalty_, 4).tolist(), strict=True))
        if known
        else None,
    }


def run(problem: str, n_noise: int, n_draws: int) -> dict[str, Any]:
    """All methods on all draws of a problem."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
    for seed in range(n_draws):
        parts = PROBLEMS[problem](n_noise, seed)
        for name, options in METHODS.items():
            rows[name].append(fit(options, parts))
    errors = {name: np.array([row["error"] for row in found]) for name, found in rows.items()}
    told = ", ".join(f"{name} {error.mean():.4f}" for name, error in errors.items())
    print(f"{problem}, {n_noise} noise features: {told}", file=sys.stderr, flush=True)
    return {
        "n_noise": n_noise,
        "n_draws": n_draws,
        "methods": {
            name: {
                "error": float(error.mean()),
                "standard_error": float(error.std(ddof=1) / np.sqrt(n_draws)),
                "seconds": float(np.median([row["seconds"] for row in rows[name]])),
                "penalty": [row["penalty"] for row in rows[name]],
            }
            for name, error in errors.items()
        },
        "differences": {
            f"{better} minus {base}": mean_difference(errors[base], errors[better])
            for better, base in COMPARED
        },
    }


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(PROBLEMS), figsize=(10, 4.2), layout="constrained")
    titles = {"simulated": "simulated, 200 examples", "usps": "USPS, 500 examples"}
    for axes, (problem, rows) in zip(panels, result["problems"].items(), strict=True):
        for name in METHODS:
            values = [row["methods"][name] for row in rows]
            axes.errorbar(
                [row["n_noise"] for row in rows],
                [100 * value["error"] for value in values],
                [100 * value["standard_error"] for value in values],
                label=name,
                marker="o" if "grouped" in name else "s",
                linestyle="-" if "grouped" in name else "--",
                capsize=2,
                markersize=4,
            )
        axes.set(title=titles[problem], xlabel="features without meaning", ylabel="test error, %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder = folder_for(NAME, quick)
    with threadpool_limits(1):
        problems = {
            problem: [run(problem, n, 2 if quick else DRAWS[problem]) for n in N_NOISE[problem]]
            for problem in PROBLEMS
        }
    result = {"n_train": N_TRAIN, "problems": problems}
    write(str(folder / NAME), result, "scikit-learn")
    plot(result, folder / f"{NAME}.png")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
