"""Speed of the gene finder, one thread: training passes, genes of a long sequence, and its memory.

    python benchmarks/gene_speed.py            about three minutes
    python benchmarks/gene_speed.py --quick    1 Mb, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). The long sequence is made
of the fly windows, again and again, and the model is fitted to 40 of them, in a few steps. Memory is that of
a process of its own, less what it has before it decodes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import alternately, asked_to_be_quick, keep, peak_bytes
from structune import GeneFinder, load
from structune.genes import load_genes
from structune.running import Run

NAME = "gene_speed"
LONG, QUICK = 10_000_000, 1_000_000
MODELS = {
    "full, both strands": {"features": "full", "strands": "both"},
    "full, forward": {"features": "full", "strands": "forward"},
    "paper, both strands": {"features": "paper", "strands": "both"},
    "paper, forward": {"features": "paper", "strands": "forward"},
}


def fitted(**kind: str) -> GeneFinder:
    finder = GeneFinder(penalty=10.0, run=Run(max_iterations=20), flank=500, n_jobs=1, **kind)
    return finder.fit(load_genes("fly_train")[:40])


def seconds_of(finder: GeneFinder) -> dict[str, float]:
    """Of a base, in windows of 10 kb."""
    structure, w = finder.graph_, finder.coef_
    windows = [s.sequence for s in load_genes("fly_test")[:40]]
    shard, out = structure.encode(windows), np.zeros_like(w)
    found = alternately(
        {
            "gradient": lambda: structure.log_partition(w, shard, out),
            "best path": lambda: structure.best(w, shard),
        },
        5,
    )
    return {name: seconds / shard.n_parts for name, seconds in found.items()}


def decode(path: str, n: int) -> None:
    """Print the seconds that a long sequence takes, and the memory in MB, before and at most."""
    finder = load(path).set_params(n_jobs=1)
    windows = "".join(s.sequence for s in load_genes("fly_test"))
    sequence = (windows * (n // len(windows) + 1))[:n]
    finder.predict([sequence[:20_000]])  # compiles, or loads what is compiled
    before, start = peak_bytes(), time.perf_counter()
    (genes,) = finder.predict([sequence])
    print(time.perf_counter() - start, before, peak_bytes(), len(genes))


def long_sequence(finder: GeneFinder, n: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.structune")
        finder.save(path)
        done = subprocess.run(
            [sys.executable, __file__, str(path), str(n)], capture_output=True, text=True, check=True
        )
    seconds, before, most, genes = map(float, done.stdout.split())
    return {
        "bases": n,
        "seconds": seconds,
        "mb_per_second": n / 1e6 / seconds,
        "memory_mb": (most - before) / 1e6,
        "genes": int(genes),
    }


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    rows = {}
    for name, kind in MODELS.items():
        finder = fitted(**kind)
        rows[name] = {"weights": finder.coef_.size}
        rows[name]["nanoseconds"] = {what: 1e9 * s for what, s in seconds_of(finder).items()}
        if kind["features"] == "full":
            rows[name]["long"] = long_sequence(finder, QUICK if quick else LONG)
        print(name, rows[name], flush=True)
    keep(NAME, quick, {"models": rows})


if __name__ == "__main__":
    with threadpool_limits(1):
        if len(sys.argv) == 3:
            decode(sys.argv[1], int(sys.argv[2]))
        else:
            main()
