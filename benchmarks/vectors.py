"""What runs of cells (structune/kernels/vectors.py) are worth: the same work with runs and without.

    python benchmarks/vectors.py            # some minutes, most of which compile
    python benchmarks/vectors.py --quick    # few repeats, to a temporary folder

"one lane" runs the kernels of structune as they are, with runs of one cell: plain numbers, which the compiler
may put into vectors as it likes. "plain loops" is a row times a matrix, the inner step of a chain, written as
one would without runs. Times are of one thread, the medians of work done in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from common import alternately, asked_to_be_quick, keep
from structune import Classifier, RNAFolder, SequenceTagger
from structune.kernels import vectors
from structune.kernels.jit import kernel
from structune.kernels.vectors import cells, lanes_for, load, splat, store, width

NAME = "vectors"
LABELS = (3, 9, 22)
RUNS, ONE = vectors._MOST_LANES, 1


@kernel
def product_in_runs(row, matrix, n, repeats, lanes, out):
    """``row`` becomes its product with ``matrix`` so many times; each is scaled to keep it in range."""
    c_row, c_matrix, c_out = cells(row), cells(matrix), cells(out)
    for _ in range(repeats):
        for step in range(0, n, width(lanes)):
            k = min(step, n - width(lanes))
            total = splat(0.0, lanes)
            for i in range(n):
                total = total + splat(c_row[i], lanes) * load(c_matrix, i * n + k, lanes)
            store(c_out, k, total)
        for k in range(n):
            c_row[k] = c_out[k]


@kernel
def product_in_loops(row, matrix, n, repeats, out):
    for _ in range(repeats):
        out[:] = 0.0
        for i in range(n):
            for k in range(n):
                out[k] += row[i] * matrix[i, k]
        for k in range(n):
            row[k] = out[k]


def kernels(n: int) -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    matrix = rng.random((n, n))
    matrix /= matrix.sum(axis=1, keepdims=True)  # products of a row keep its sum
    row, out = np.full(n, 1.0 / n), np.empty(n)
    return {
        "runs": lambda: product_in_runs(row, matrix, n, 20_000, lanes_for(float, n), out),
        "plain loops": lambda: product_in_loops(row, matrix, n, 20_000, out),
    }


def jobs() -> dict[str, Callable[[], Any]]:
    """Work of structure that takes runs, by name."""
    rng, found = np.random.default_rng(0), dict[str, Callable[[], Any]]()
    for n in LABELS:
        X = [[[f"w={w}"] for w in rng.integers(0, 500, 25)] for _ in range(400)]
        y = [[f"l{k}" for k in rng.integers(0, n, 25)] for _ in range(400)]
        found |= answers(f"chain, {n} labels", SequenceTagger()._encode_training(X, y))
    table, classes = rng.normal(size=(20_000, 5)), rng.integers(0, 10, 20_000)
    found |= answers("classes, 10", Classifier()._encode_training(table, classes), best=False)
    folder = RNAFolder.pretrained().set_params(n_jobs=1)
    rna = "".join(rng.choice(list("ACGU"), 300))
    found["RNA of 300 bases, probabilities"] = lambda: folder.pair_probabilities(rna)
    found["RNA of 300 bases, accuracy"] = lambda: folder.predict([rna])
    found["RNA of 300 bases, best score"] = lambda: folder.predict_viterbi([rna])
    return found


def answers(name: str, encoded: Any, best: bool = True) -> dict[str, Callable[[], Any]]:
    structure, shard = encoded.structure, encoded.shard
    w = 0.1 * np.random.default_rng(0).normal(size=structure.n_weights)
    found = {f"{name}, gradient": lambda: structure.log_partition(w, shard, np.zeros(w.size))}
    return found | ({f"{name}, best": lambda: structure.best(w, shard)} if best else {})


def with_lanes(job: Callable[[], Any], lanes: int) -> Callable[[], Any]:
    def run() -> None:
        vectors._MOST_LANES = lanes
        try:
            job()
        finally:
            vectors._MOST_LANES = RUNS

    return run


def compared(base: Callable[[], Any], other: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Seconds of both, and how many times longer the other takes."""
    base(), other()  # compiled
    seconds = alternately({"runs, s": base, "without, s": other}, repeats)
    return {**seconds, "ratio": seconds["without, s"] / seconds["runs, s"]}


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    repeats = 3 if quick else 15
    result: dict[str, Any] = {"lanes": RUNS, "repeats": repeats, "one lane": {}, "plain loops": {}}
    for name, job in jobs().items():
        row = compared(with_lanes(job, RUNS), with_lanes(job, ONE), repeats)
        result["one lane"][name] = row
        print(f"{name}: {row['ratio']:.2f} times longer with one lane", flush=True)
    for n in LABELS:
        both = kernels(n)
        row = compared(both["runs"], both["plain loops"], repeats)
        result["plain loops"][f"row times matrix, {n} labels"] = row
        print(f"row times matrix, {n} labels: {row['ratio']:.2f} times longer in plain loops", flush=True)
    keep(NAME, quick, result)


if __name__ == "__main__":
    main()
