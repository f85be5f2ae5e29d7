"""Figure 6 of Chen et al. 2009: directions of smoothed stock prices, before and after adding constraints.

    python benchmarks/stock_direction.py            # all tickers, a quarter of an hour on two cores; resumes
    python benchmarks/stock_direction.py --quick    # seven tickers, into a temporary folder

For each ticker and each day T + 1 from 2006-05-16 on, the direction of the smoothed price is predicted from
days 1 to T by the features (ranges of the last three changes) x (y_t-1, y_t): 8^3 x 4 weights. Where a
model has not seen the ranges it scores both directions alike, and yesterday's is predicted. The validation
sequence is the last 100 days, with gamma = 0.01. Models are refitted every 5 days on the growing window, from
the weights of the fit before; in between they predict from what is known the day before. "daily" refits some
tickers every day, as the paper does, to see what that changes.

"unconstrained" has no penalty, and its likelihood no maximum: the fit ends where the gradient is a thousandth
of that at w = 0. "constrained" goes on from there. "frequencies" takes the direction that followed the same
ranges and direction most often.

Prices are smoothed by the mean of the last five days, which is causal. The same mean centred on its day, as a
filter without lag would have it, is the same series read two days earlier, with the same predictions: "raw,
leaking" compares them with the raw direction of that earlier day, which the features have seen.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, mean_difference, write
from price_directions import (
    FORBIDDEN_PAIRS,
    PAIRS,
    DirectionSequence,
    direction_sequence,
    load_prices,
    smooth,
)
from structune.learning import LogLoss, PerceptronLoss, Risk, fit_l2
from structune.learning.solvers.saddle_point import fit_constrained
from structune.tagging import Chain

NAME = "stock_direction"
FIRST_DAY = np.datetime64("2006-05-16")
SETTINGS = {"window": 5, "n_ranges": 8, "validation_days": 100, "gamma": 0.01, "tolerance": 1e-3, "every": 5}
MODELS = ("unconstrained", "constrained", "regularised")
METHODS = (*MODELS, "persistence", "majority", "frequencies")
TRUTHS = ("smoothed", "raw", "raw, leaking")
BINS = (0.0, 0.65, 0.7, 0.75, 0.8, 1.0)  # of the unconstrained accuracy
N_DAILY, N_QUICK, SAVE_EVERY = 24, 6, 10
COUNTS = ("days", "fits", "active", "unmet", "rounds", "most rounds")
COLUMNS = (
    *COUNTS,
    *(f"{truth}: {method}" for truth in TRUTHS for method in METHODS),  # days predicted right
    *(f"{what}: {model}" for what in ("seconds", "passes") for model in MODELS),
)


class Walk:
    """A ticker's sequence, and its models as they are refitted."""

    def __init__(self, sequence: DirectionSequence) -> None:
        n = len(sequence.names) * len(PAIRS)
        none = np.empty(0, np.int64)
        self.sequence = sequence
        self.chain = Chain(PAIRS, sequence.names, np.arange(n), none, False, FORBIDDEN_PAIRS)
        self.weights = {name: np.zeros(n) for name in MODELS}
        self.counts = dict.fromkeys(COUNTS, 0)
        self.seconds, self.passes = dict.fromkeys(MODELS, 0.0), dict.fromkeys(MODELS, 0.0)

    def risk(self, loss: Any, first: int, last: int) -> Risk:
        inputs, labels = self.sequence.attributes(first, last), self.sequence.labels(first, last)
        return Risk(self.chain, loss, [self.chain.encode(inputs, labels)])

    def refit(self, n: int) -> None:
        """Fit all models on the first `n` days of the sequence."""
        self.counts["fits"] += 1
        validation = self.risk(PerceptronLoss(), n - SETTINGS["validation_days"], n)
        for name in MODELS:
            risk, start = self.risk(LogLoss(), 0, n), time.perf_counter()
            precision = np.full(risk.n_weights, 1.0 if name == "regularised" else 0.0)
            if name == "constrained":
                self.weights[name] = self.constrained(risk, precision, validation)
            else:
                fit = fit_l2(risk, precision, self.weights[name], tolerance=SETTINGS["tolerance"])
                self.weights[name] = fit.w
            self.seconds[name] += time.perf_counter() - start
            self.passes[name] += risk.passes

    def constrained(self, risk: Risk, precision: np.ndarray, validation: Risk) -> np.ndarray:
        ends = {"gamma": SETTINGS["gamma"], "tolerance": SETTINGS["tolerance"]}
        fit = fit_constrained(risk, precision, [validation], self.weights["unconstrained"], **ends)
        self.counts["active"] += fit.n_rounds > 1
        self.counts["unmet"] += fit.status != "converged"
        self.counts["rounds"] += fit.n_rounds
        self.counts["most rounds"] = max(self.counts["most rounds"], fit.n_rounds)
        return fit.w

    def predict(self, name: str, t: int) -> int:
        """Direction of token `t`, that of the day before being known."""
        before = self.sequence.before[t]
        fall, raised = self.weights[name].reshape(-1, 2, 2)[self.sequence.ranges[t], before]
        return int(before if fall == raised else raised > fall)


def frequent(sequence: DirectionSequence, t: int) -> int:
    """The direction that followed the same ranges and direction most often; else that of the day before."""
    same = (sequence.ranges[:t] == sequence.ranges[t]) & (sequence.before[:t] == sequence.before[t])
    share = sequence.direction[:t][same].mean() if same.any() else 0.5
    return int(sequence.before[t] if share == 0.5 else share > 0.5)


def walk(prices: np.ndarray, first: int, every: int) -> str:
    """The numbers of `COLUMNS` for a ticker, of which the models predict the days from `first` on."""
    sequence = direction_sequence(smooth(prices, SETTINGS["window"]), first, SETTINGS["n_ranges"])
    models, begin = Walk(sequence), int(np.searchsorted(sequence.day, first))
    tokens = np.arange(begin, sequence.day.size)
    predicted: dict[str, list[int]] = {name: [] for name in METHODS}
    for t in tokens:
        if (t - begin) % every == 0:
            models.refit(t)
        for name in MODELS:
            predicted[name].append(models.predict(name, t))
        predicted["persistence"].append(int(sequence.before[t]))
        predicted["majority"].append(int(sequence.direction[:t].mean() > 0.5))
        predicted["frequencies"].append(frequent(sequence, t))
    day = sequence.day[tokens]
    raised = np.concatenate(([False], np.diff(prices) > 0))
    truths = (sequence.direction[tokens], raised[day], raised[day - SETTINGS["window"] // 2])
    right = [int(np.sum(p == truth)) for truth in truths for p in predicted.values()]
    costs = [round(value, 2) for costs in (models.seconds, models.passes) for value in costs.values()]
    models.counts["days"] = day.size
    return " ".join(map(str, (*models.counts.values(), *right, *costs)))


def one(prices: np.ndarray, first: int, every: int) -> str:
    with threadpool_limits(1):
        return walk(prices, first, every)


def table_of(rows: dict[str, str]) -> dict[str, np.ndarray]:
    """Columns by name, a number a ticker."""
    values = np.array([row.split() for row in rows.values()], dtype=float)
    return dict(zip(COLUMNS, values.T, strict=True))


def summary(rows: dict[str, str]) -> dict[str, Any]:
    """Means over tickers, figure 6's categories, and what the fits cost."""
    columns = table_of(rows)
    share = {
        truth: {method: columns[f"{truth}: {method}"] / columns["days"] for method in METHODS}
        for truth in TRUTHS
    }
    free = share["smoothed"]["unconstrained"]
    bins = []
    for low, high in pairwise(BINS):
        inside = (free >= low) & ((free < high) | (high == BINS[-1]))
        means = {m: float(a[inside].mean()) if inside.any() else None for m, a in share["smoothed"].items()}
        bins.append({"low": low, "high": high, "tickers": int(inside.sum()), "accuracy": means})
    fits = columns["fits"].sum()
    return {
        "tickers": len(rows),
        "accuracy": {
            truth: {method: float(values.mean()) for method, values in methods.items()}
            for truth, methods in share.items()
        },
        "constrained minus": {
            method: mean_difference(share["smoothed"][method], share["smoothed"]["constrained"])
            for method in METHODS
            if method != "constrained"
        },
        "bins": bins,
        "fits": int(fits),
        "active": float(columns["active"].sum() / fits),
        "unmet": int(columns["unmet"].sum()),
        "mean_rounds": float(columns["rounds"].sum() / fits),
        "most_rounds": int(columns["most rounds"].max()),
        "milliseconds_a_fit": {m: float(1e3 * columns[f"seconds: {m}"].sum() / fits) for m in MODELS},
        "passes_a_fit": {m: float(columns[f"passes: {m}"].sum() / fits) for m in MODELS},
    }


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    bins = [row for row in result["summary"]["bins"] if row["tickers"]]
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for method in METHODS:
        if method != "majority":  # far below
            accuracy = [100 * row["accuracy"][method] for row in bins]
            style = {"marker": "o" if method in MODELS else "s", "markersize": 4}
            style["linestyle"] = "--" if method == "constrained" else "-"  # the lines may coincide
            axes.plot(accuracy, label=method, **style)
    names = [f"{100 * row['low']:.0f} to {100 * row['high']:.0f}\n{row['tickers']} tickers" for row in bins]
    axes.set_xticks(range(len(bins)), names)
    axes.set(xlabel="accuracy of the unconstrained CRF, %", ylabel="mean accuracy, smoothed prices, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def stored(path: Path) -> dict[str, dict[str, str]]:
    """What an earlier run with the same settings has done."""
    done = json.loads(path.read_text()) if path.exists() else {}
    if done.get("settings") != SETTINGS or done.get("columns") != list(COLUMNS):
        return {"tickers": {}, "daily": {}}
    return {"tickers": done["tickers"], "daily": done["daily"]}


def save(folder: Path, parts: dict[str, dict[str, str]]) -> dict[str, Any]:
    parts = {part: dict(sorted(rows.items())) for part, rows in parts.items()}
    same = {name: parts["tickers"][name] for name in parts["daily"] if name in parts["tickers"]}
    result = {
        "settings": SETTINGS,
        "summary": summary(parts["tickers"]),
        "same_as_daily": summary(same) if same else None,
        "daily_summary": summary(parts["daily"]) if parts["daily"] else None,
        "columns": list(COLUMNS),
        **parts,
    }
    write(str(folder / NAME), result)
    return result


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder, (days, tickers, prices) = folder_for(NAME, quick), load_prices()
    first, parts = int(np.searchsorted(days, FIRST_DAY)), stored(folder / f"{NAME}.json")
    n = len(tickers)
    chosen = {"tickers": range(0, n, n // N_QUICK if quick else 1), "daily": range(0, n, n // N_DAILY)}
    if quick:
        chosen["daily"] = range(1)
    with ProcessPoolExecutor(2) as pool:
        waiting = {
            pool.submit(one, prices[:, k], first, SETTINGS["every"] if part == "tickers" else 1): (
                part,
                k,
            )
            for part, columns in chosen.items()
            for k in columns
            if tickers[k] not in parts[part]
        }
        for n_done, future in enumerate(as_completed(waiting), 1):
            part, k = waiting[future]
            parts[part][tickers[k]] = future.result()
            if n_done % SAVE_EVERY == 0:
                save(folder, parts)
                print(f"{n_done} of {len(waiting)}", file=sys.stderr, flush=True)
    result = save(folder, parts)
    plot(result, folder / f"{NAME}.png")
    print(json.dumps(result["summary"], indent=1))
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
