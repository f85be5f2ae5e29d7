"""Speed of the RNA structure, one thread, against the ViennaRNA wheel; and of a gradient over training data.

    python benchmarks/rna_speed.py            the whole table, about three minutes
    python benchmarks/rna_speed.py --quick    up to 300 bases

Needs ``pip install ViennaRNA`` and the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the
checkout). Both programs fold the same random sequences, in turns, in one process: structune with CONTRAfold's
parameters, ViennaRNA as it comes. Both look at loops of at most 30 unpaired bases.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from common import write

LENGTHS, QUICK = (100, 300, 600, 1200, 2400), (100, 300)


def data_folder() -> Path:
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("STRUCTUNE_DATA", beside)) / "rna"
    if not folder.is_dir():
        raise SystemExit(f"{folder} is not there: set STRUCTUNE_DATA to the folder that holds the data")
    return folder


def alternately(functions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def fold(n: int, rna: Any, w: np.ndarray, repeats: int) -> dict[str, Any]:
    import RNA as vienna  # noqa: N811

    sequence = "".join(np.random.default_rng(n).choice(list("ACGU"), n))
    shard = rna.encode([sequence])

    def vienna_pairs() -> None:
        compound = vienna.fold_compound(sequence)
        compound.pf()
        compound.bpp()

    seconds = alternately(
        {
            "structune_pairs": lambda: rna.pair_probabilities(w, shard, 0),
            "vienna_pairs": vienna_pairs,
            "structune_best": lambda: rna.best(w, shard),
            "vienna_best": lambda: vienna.fold_compound(sequence).mfe(),
        },
        repeats,
    )
    row = {
        "length": n,
        **seconds,
        "pairs_times_faster": seconds["vienna_pairs"] / seconds["structune_pairs"],
        "best_times_faster": seconds["vienna_best"] / seconds["structune_best"],
    }
    print({k: round(v, 4) for k, v in row.items()}, flush=True)
    return row


def read_s151(folder: Path) -> list[tuple[str, str]]:
    with gzip.open(folder / "S151Rfam.tsv.gz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    return [(row[2], row[3]) for row in rows]


def gradient(folder: Path, rna: Any, w: np.ndarray) -> dict[str, Any]:
    """Over one fold of S151Rfam: 76 sequences, whether or not their structures lie in the model's space."""
    from structune.executors import ThreadExecutor
    from structune.risk import Risk

    class Partition:
        """Only what costs time: the log-partition and its gradient."""

        needs = frozenset({"log_partition"})

        def linear(self, structure: Any, shard: Any) -> None:
            return None

        def nonlinear(self, structure: Any, shard: Any, w: Any, gradient: Any) -> Any:
            return shard.weights @ structure.log_partition(w, shard, gradient)

        def linearize(self, structure: Any, shard: Any, w: Any) -> Any:
            return structure.linearize(w, shard)

    order = np.random.default_rng(0).permutation(151)[:76]
    sequences = [sequence for sequence, _ in read_s151(folder)]
    shard = rna.encode([sequences[k] for k in order])
    risks = {n: Risk.over(rna, Partition(), shard, ThreadExecutor(n)) for n in (1, 2)}
    v = np.random.default_rng(1).normal(size=w.size)
    products = {n: risk.linearize(w) for n, risk in risks.items()}
    seconds = alternately(
        {
            **{f"gradient_{n}": lambda risk=risk: risk.value_and_gradient(w) for n, risk in risks.items()},
            **{f"hessian_product_{n}": lambda p=p: p(v) for n, p in products.items()},
        },
        9,
    )
    row = {"sequences": len(shard), "bases": shard.n_parts, **seconds}
    row["two_threads_times_faster"] = seconds["gradient_1"] / seconds["gradient_2"]
    print({k: round(value, 4) for k, value in row.items()}, flush=True)
    return row


def main() -> None:
    from structune.formats import read_contrafold
    from structune.structures.rna import RNA

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    folder, rna = data_folder(), RNA()
    w = rna.weights_from(read_contrafold(folder / "contrafold.params.complementary"))
    shard = rna.encode(["GGGGAAAACCCC"])
    rna.pair_probabilities(w, shard, 0), rna.best(w, shard), rna.linearize(w, shard)(w)  # compiles
    rows = [fold(n, rna, w, 5 if n < 1000 else 3 if n < 2000 else 1) for n in (QUICK if quick else LENGTHS)]
    result = {"folding": rows, "s151": gradient(folder, rna, w)}
    if not quick:
        write("rna_speed", result, "ViennaRNA")


if __name__ == "__main__":
    main()
