"""Figure 2 of Do, Foo & Ng 2007: test error against the relevant features R (M = 10) and against M (R = 5).

    python benchmarks/hmm_simulation.py            # 100 runs a point, some minutes on two cores
    python benchmarks/hmm_simulation.py --quick    # 8 runs a point

Every run draws M training, 10 held-out and 1000 test sequences, and tunes a CRF four ways: one hyperparameter
by grid and by implicit gradient, one a weight, and one for each of transitions, relevant and noise features.
Models stay those of the training part, as in the paper. Two more columns refit the grouped one on training
and held-out sequences together, with the learned precisions as they are and scaled with the amount of data.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from common import RESULTS, parser_of, write
from structune.learning import GridTuner, ImplicitTuner, LogLoss, Risk, TuningProblem, fit_l2
from structune.learning.tuning.problem import Split
from structune.structure import Groups
from structune.tagging import Chain, hmm_attributes, hmm_groups, simulate_hmm

METHODS = ("grid", "single", "separate", "grouped")
LABELS = ("0", "1")
R_VALUES = (0, 2, 5, 10, 15, 20, 30, 40)
M_VALUES = (5, 10, 20, 30, 50, 75, 100)


def draw(n: int, n_relevant: int, rng: np.random.Generator) -> tuple[Any, list[list[str]]]:
    y, x = simulate_hmm(n, n_relevant, random_state=rng)
    return hmm_attributes(x), [[LABELS[v] for v in row] for row in y]


def paper_groups(chain: Chain, n_relevant: int) -> Groups:
    kinds = hmm_groups(chain.attributes, n_relevant)
    names = [kinds.get(name.partition(" : ")[0], "transitions") for name in chain.weight_names()]
    return Groups.by_name(names)


def one_run(seed: int, n_train: int, n_relevant: int) -> dict[str, float]:
    """Test error of each method on one draw."""
    rng = np.random.default_rng([seed, n_train, n_relevant])
    (x, y), (xh, yh), (xt, yt) = (draw(n, n_relevant, rng) for n in (n_train, 10, 1000))
    chain = Chain.build(x, y, states="all", labels=LABELS)
    train, heldout, test = chain.encode(x, y), chain.encode(xh, yh), chain.encode(xt, yt)
    split = Split(Risk(chain, LogLoss(), [train]), Risk(chain, LogLoss(), [heldout]))
    both = Risk(chain, LogLoss(), [train, heldout])
    groups = {
        "grid": Groups.single(chain.n_weights),
        "single": Groups.single(chain.n_weights),
        "separate": Groups.separate(chain.weight_names()),
        "grouped": paper_groups(chain, n_relevant),
    }

    def error(w: np.ndarray) -> float:
        return float(np.mean(chain.best(w, test)[0] != test.labels))

    errors = {}
    for method in METHODS:
        tuner = GridTuner(refit=False) if method == "grid" else ImplicitTuner(refit=False)
        result = tuner.tune(TuningProblem(split.train, groups[method], (split,)))
        errors[method] = error(result.w)
    precision = np.exp(result.log_precision)[groups["grouped"].index]
    errors["grouped_refit"] = error(fit_l2(both, precision).w)
    errors["grouped_refit_rescaled"] = error(fit_l2(both, precision * both.weight / split.train.weight).w)
    return errors


def point(pool: ProcessPoolExecutor, runs: int, n_train: int, n_relevant: int) -> dict[str, Any]:
    """Mean errors over runs, their standard errors, and paired differences to the next best method."""
    rows = list(pool.map(one_run, range(runs), [n_train] * runs, [n_relevant] * runs, chunksize=4))
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    mean = dict(zip(names, table.mean(axis=0).tolist(), strict=True))
    next_best = min(("grid", "single", "separate"), key=lambda name: mean[name])
    gain = table[:, names.index(next_best)] - table[:, names.index("grouped")]
    resampled = gain[np.random.default_rng(0).integers(0, runs, (4000, runs))].mean(axis=1)
    return {
        "n_train": n_train,
        "n_relevant": n_relevant,
        "error": mean,
        "standard_error": dict(zip(names, (table.std(axis=0, ddof=1) / runs**0.5).tolist(), strict=True)),
        "next_best": next_best,
        "gain": float(gain.mean()),
        "gain_interval": np.percentile(resampled, (2.5, 97.5)).tolist(),
        "relative_gain": float(gain.mean() / mean[next_best]),
    }


def plot(result: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    panels = (
        ("against_relevant", "n_relevant", "relevant features R (M = 10)"),
        ("against_training", "n_train", "training sequences M (R = 5)"),
    )
    for axis, (key, x, label) in zip(axes, panels, strict=True):
        for method in METHODS:
            rows = result[key]
            axis.errorbar(
                [row[x] for row in rows],
                [row["error"][method] for row in rows],
                [row["standard_error"][method] for row in rows],
                label=method,
                marker="o",
                markersize=4,
                capsize=2,
            )
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share of labels wrong on test")
    axes[1].legend(title="hyperparameters")
    figure.savefig(RESULTS / "hmm_simulation.png", dpi=150)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    runs = 8 if arguments.quick else arguments.runs
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        against_relevant = [point(pool, runs, 10, r) for r in R_VALUES]
        against_training = [point(pool, runs, m, 5) for m in M_VALUES]
    rows = against_relevant + against_training
    result = {
        "runs": runs,
        "seconds": time.perf_counter() - start,
        "published": {"gain": 0.067, "relative_gain": 0.162},
        "against_relevant": against_relevant,
        "against_training": against_training,
        "largest_gain": max(row["gain"] for row in rows),
        "largest_relative_gain": max(row["relative_gain"] for row in rows),
        "points_grouped_is_best": sum(row["gain"] > 0 for row in rows),
        "points": len(rows),
    }
    for row in rows:
        errors = "  ".join(f"{name} {value:.3f}" for name, value in row["error"].items())
        low, high = row["gain_interval"]
        gain = f"{row['gain']:.3f} [{low:.3f}, {high:.3f}]"
        print(f"M {row['n_train']:3d} R {row['n_relevant']:2d}  {errors}  gain {gain}")
    print(f"{result['seconds']:.0f} s")
    if not arguments.quick:
        write("hmm_simulation", result)
        plot(result)


if __name__ == "__main__":
    main()
