"""Gradients for the constraints of Chen et al. 2009: the exact subgradient, and the paper's approximation.

    python benchmarks/constraint_gradients.py            # three minutes
    python benchmarks/constraint_gradients.py --quick    # a seed of each task, into a temporary folder

Each seed draws training sequences and three validation sets among them, and goes on from the penalised fit
to the constrained one, with the same search and gamma = 0.01. "printed" and "weighted" add equation 14 to the
exact subgradient, without and with the weights that its print leaves out, for each weight of a transition;
its terms are clipped. "tight" has a hundredth of the tolerance. Passes are over the training data; the
forward scores that flips are found by are not counted.

In the simulation all pairs of attributes and labels have weights, so that all labellings have the same
number of features, and printed terms are zero.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, mean_difference, write
from structune.learning import LogLoss, Risk, fit_l2, validation_constraints
from structune.learning.parameters import TOLERANCE
from structune.learning.solvers.saddle_point import fit_constrained
from structune.tagging import (
    Chain,
    conll2000_templates,
    extract,
    hmm_attributes,
    load_conll2000,
    parse_templates,
    simulate_hmm,
)
from viterbi_flips import FlipConstraint

NAME = "constraint_gradients"
GAMMA = 0.01
# options of `FlipConstraint`, if any, and the tolerance
VARIANTS: dict[str, tuple[dict[str, Any] | None, float]] = {
    "exact": (None, TOLERANCE),
    "exact, tight": (None, TOLERANCE / 100),
    "printed, clip 1": ({"weighted": False}, TOLERANCE),
    "printed, clip 100": ({"weighted": False, "clip": 100.0}, TOLERANCE),
    "weighted": ({"weighted": True}, TOLERANCE),
}
FEW = "w[0] pos[-1] pos[0] pos[1]"


def hmm(seed: int, n_train: int) -> tuple[Chain, Any, Any]:
    """Training and 1000 test sequences of 10 tokens, with 5 relevant features of 40."""
    rng = np.random.default_rng(seed)
    (x, y), (xt, yt) = (drawn(n, rng) for n in (n_train, 1000))
    chain = Chain.build(x, y)
    return chain, chain.encode(x, y), chain.encode(xt, yt)


def drawn(n: int, rng: np.random.Generator) -> tuple[Any, list[list[str]]]:
    y, x = simulate_hmm(n, 5, random_state=rng)
    return hmm_attributes(x), [["01"[v] for v in row] for row in y]


def conll2000(seed: int, templates: Any) -> tuple[Chain, Any, Any]:
    """100 sentences to train on, and 500 of the test set; labels not known from training count as O."""
    train, test = (load_conll2000(subset) for subset in ("train", "test"))
    chosen = np.random.default_rng(seed).permutation(len(train.lengths))[:100]
    (x, y), (xt, yt) = sentences(train, chosen, templates), sentences(test, np.arange(500), templates)
    chain = Chain.build(x, y)
    known = [[label if label in chain.labels else "O" for label in labels] for labels in yt]
    return chain, chain.encode(x, y), chain.encode(xt, known)


def sentences(data: Any, chosen: np.ndarray, templates: Any) -> tuple[Any, list[list[str]]]:
    all_columns = {name: data.sentences(name) for name in ("w", "pos", "y")}
    columns = {name: [rows[i] for i in chosen] for name, rows in all_columns.items()}
    flat = {name: [value for row in columns[name] for value in row] for name in ("w", "pos")}
    return extract(templates, flat, data.lengths[chosen]), columns["y"]


@dataclass(frozen=True)
class Task:
    load: Callable[[int], tuple[Chain, Any, Any]]
    penalty: float
    n_seeds: int


TASKS = {
    "simulation, 10 sequences": Task(partial(hmm, n_train=10), 1.0, 10),
    "simulation, 100 sequences": Task(partial(hmm, n_train=100), 1.0, 10),
    "chunking, 4 templates": Task(partial(conll2000, templates=parse_templates(FEW)), 1.0, 3),
    "chunking, 19 templates, penalty 10": Task(partial(conll2000, templates=conll2000_templates()), 10.0, 3),
}


def accuracy(chain: Chain, w: np.ndarray, test: Any) -> float:
    return float(np.mean(chain.best(w, test)[0] == test.labels))


def one_seed(task: str, seed: int) -> dict[str, dict[str, Any]]:
    """What each variant came to, and what it took."""
    chain, train, test = TASKS[task].load(seed)
    precision = np.full(chain.n_weights, TASKS[task].penalty)
    free = fit_l2(Risk.over(chain, LogLoss(), train), precision)
    found = {}
    for name, (options, tolerance) in VARIANTS.items():
        risk = Risk.over(chain, LogLoss(), train)
        constraints = validation_constraints(chain, train, random_state=seed)
        if options is not None:
            constraints = [FlipConstraint(chain, h.shards[0], **options) for h in constraints]
        start = time.perf_counter()
        fit = fit_constrained(risk, precision, constraints, free.w, gamma=GAMMA, tolerance=tolerance)
        found[name] = {
            "seconds": time.perf_counter() - start,
            "rounds": fit.n_rounds,
            "passes": risk.passes + sum(h.passes * h.n_parts for h in constraints) / risk.n_parts,
            "objective": fit.objective,
            "violation": float(max(0.0, fit.constraint_values.max() - GAMMA)),
            "status": fit.status,
            "accuracy": accuracy(chain, fit.w, test),
            "free_objective": free.objective,
            "free_accuracy": accuracy(chain, free.w, test),
        }
    return found


def summary(runs: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Means over seeds, and differences to the exact subgradient in accuracy and relative objective."""
    result = {}
    for name in VARIANTS:
        rows, exact = [run[name] for run in runs], [run["exact"] for run in runs]
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "status"}
        objective = [a["objective"] / b["objective"] - 1 for a, b in zip(rows, exact, strict=True)]
        result[name] = {
            **means,
            "most_violation": max(row["violation"] for row in rows),
            "infeasible": sum(row["status"] == "infeasible" for row in rows),
            "objective_over_exact": mean_difference(np.zeros(len(rows)), objective),
            "accuracy_minus_exact": mean_difference(
                [row["accuracy"] for row in exact], [row["accuracy"] for row in rows]
            ),
        }
    return result


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    with threadpool_limits(1):
        runs = {
            name: [one_seed(name, seed) for seed in range(1 if quick else task.n_seeds)]
            for name, task in TASKS.items()
        }
    result = {
        "settings": {"gamma": GAMMA, "variants": VARIANTS},
        "summary": {task: summary(rows) for task, rows in runs.items()},
        "runs": runs,
    }
    folder = folder_for(NAME, quick)
    write(str(folder / NAME), result)
    print(json.dumps(result["summary"], indent=1))
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
