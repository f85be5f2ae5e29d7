"""Figure 6 of Chen et al. 2009: directions of smoothed stock prices, before and after adding constraints.

    python benchmarks/stock_direction.py            # all tickers; goes on where it was stopped
    python benchmarks/stock_direction.py --quick    # six tickers, into a temporary folder

For each ticker and each day T + 1 from 2006-05-16 on, the direction of the smoothed price is predicted from days
1 to T: the paper's features, (ranges of the last three changes) x (y_t-1, y_t), 8^3 x 4 weights; the validation
sequence are the last 100 days, gamma = 0.01. Models are refitted every 5 days on the growing window, starting
at the weights before; in between, they predict from the changes and the direction up to yesterday. The part
"daily" refits every day for some tickers, to see what that changes. Where a model scores both directions
alike, because it has not seen the ranges, yesterday's is predicted.

"none" has no penalty: its fit ends where the gradient is a thousandth of that at w = 0, which it must, as the
likelihood has no maximum.

Prices are smoothed by the mean of the last five days, which is causal. The same mean centred on its day is the
same series read two days earlier, and so are its predictions: "raw, leaking" compares them with the raw
direction of that earlier day, which the features know. That is what labels by a filter that is not causal do.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, mean_difference, write
from structune.datasets import load_stocks
from structune.features.prices import FORBIDDEN_PAIRS, PAIRS, DirectionSequence, direction_sequence, smooth
from structune.losses import LogLoss
from structune.margin_losses import PerceptronLoss
from structune.risk import Risk
from structune.solvers.l2 import fit_l2
from structune.solvers.saddle_point import fit_constrained
from structune.structures.chain import Chain

NAME = "stock_direction"
FIRST_DAY = np.datetime64("2006-05-16")
SETTINGS = {"window": 5, "n_ranges": 8, "validation_days": 100, "gamma": 0.01, "tolerance": 1e-3, "every": 5}
MODELS = {"none": 0.0, "constrained": 0.0, "penalty": 1.0, "constrained + penalty": 1.0}  # their precisions
BASELINES = ("persistence", "majority", "frequencies")
BINS = (0.0, 0.65, 0.7, 0.75, 0.8, 1.0)
N_DAILY, N_QUICK, SAVE_EVERY = 24, 6, 20


class Walk:
    """A ticker's sequence, and its models as they are refitted."""

    def __init__(self, sequence: DirectionSequence) -> None:
        n = len(sequence.names) * len(PAIRS)
        none = np.empty(0, np.int64)
        self.sequence = sequence
        self.chain = Chain(PAIRS, sequence.names, np.arange(n), none, False, FORBIDDEN_PAIRS)
        self.weights = {name: np.zeros(n) for name in MODELS}
        self.seconds, self.passes, self.rounds = (dict.fromkeys(MODELS, 0.0) for _ in range(3))
        self.fits, self.unmet = 0, 0

    def risk(self, loss: Any, first: int, last: int) -> Risk:
        inputs, labels = self.sequence.attributes(first, last), self.sequence.labels(first, last)
        return Risk(self.chain, loss, [self.chain.encode(inputs, labels)])

    def refit(self, n: int) -> None:
        """Fit all models on the first `n` days of the sequence."""
        self.fits += 1
        for name, precision in MODELS.items():
            risk = self.risk(LogLoss(), 0, n)
            start = time.perf_counter()
            if name.startswith("constrained"):
                self.weights[name] = self.constrained(name, risk, precision, n)
            else:
                fit = fit_l2(
                    risk,
                    np.full(risk.n_weights, precision),
                    self.weights[name],
                    tolerance=SETTINGS["tolerance"],
                )
                self.weights[name] = fit.w
            self.seconds[name] += time.perf_counter() - start
            self.passes[name] += risk.passes

    def constrained(self, name: str, risk: Risk, precision: float, n: int) -> np.ndarray:
        validation = self.risk(PerceptronLoss(), max(0, n - SETTINGS["validation_days"]), n)
        start = self.weights["penalty" if precision else "none"]
        fit = fit_constrained(
            risk,
            np.full(risk.n_weights, precision),
            [validation],
            start,
            gamma=SETTINGS["gamma"],
            tolerance=SETTINGS["tolerance"],
        )
        self.unmet += fit.status != "converged"
        self.rounds[name] += fit.n_rounds
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


def walk(prices: np.ndarray, first: int, every: int) -> dict[str, Any]:
    """Accuracies of all methods on a ticker: smoothed, raw, and raw as a centred filter would have it."""
    sequence = direction_sequence(smooth(prices, SETTINGS["window"]), first, SETTINGS["n_ranges"])
    models, begin = Walk(sequence), int(np.searchsorted(sequence.day, first))
    tokens = np.arange(begin, sequence.day.size)
    predicted: dict[str, list[int]] = {name: [] for name in (*MODELS, *BASELINES)}
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
    truths = {
        "smoothed": sequence.direction[tokens],
        "raw": raised[day],
        "raw, leaking": raised[day - SETTINGS["window"] // 2],
    }
    return {
        "days": len(day),
        "fits": models.fits,
        "unmet": models.unmet,
        "accuracy": {
            what: {name: float(np.mean(p == truth)) for name, p in predicted.items()}
            for what, truth in truths.items()
        },
        "seconds": models.seconds,
        "passes": models.passes,
        "rounds": models.rounds,
    }


def one(prices: np.ndarray, first: int, every: int) -> dict[str, Any]:
    with threadpool_limits(1):
        return walk(prices, first, every)


if __name__ == "__main__" and len(sys.argv) > 1 and sys.argv[1] == "time":
    table = load_stocks()
    first = int(np.searchsorted(table.days, FIRST_DAY))
    print(first, len(table.tickers))
    for e in (5, 1):
        for k in (0, 100, 200):
            t0 = time.time()
            r = one(table.prices[:, k], first, e)
            print(e, table.tickers[k], time.time() - t0, json.dumps(r, indent=None))
