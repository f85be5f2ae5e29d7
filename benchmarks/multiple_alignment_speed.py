"""Seconds and memory of multiple alignments, by how many sequences there are and how long they are.

    python benchmarks/multiple_alignment_speed.py            twenty minutes, on an idle machine
    python benchmarks/multiple_alignment_speed.py --quick    small families, nothing is written

Families are made by mutation along a balanced tree, 40 % of the residues changed on the way from the root.
Each program runs by itself, one thread each, its start included; structune with both kernels compiled before.
A program that would take longer than 45 seconds, or 120 for whole proteins, is ended, and asked for no more.
Peak memory of small ones is that of the process that started them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

from common import asked_to_be_quick, keep
from multiple_alignment import COMMANDS

NAME = "multiple_alignment_speed"
RESIDUES = list("ARNDCQEGHILKMFPSTWYV")
VARIED = {
    "sequences of 100": [(n, 100) for n in (5, 10, 20, 40, 80, 150, 300, 600, 1000)],
    "residues of 10": [(10, m) for m in (50, 100, 200, 400, 800, 1600)],
    "proteins": [(30, 300), (150, 400), (1000, 300)],  # not drawn
}
QUICK = {"sequences of 100": [(n, 100) for n in (5, 10, 300)], "residues of 5": [(5, m) for m in (50, 100)]}
OURS = [str(Path(sys.executable).with_name("structune")), "align", "--multiple", "--quiet"]
PROGRAMS = {"structune": [*OURS, "--jobs", "1"], "structune, two threads": [*OURS, "--jobs", "2"], **COMMANDS}
LIMIT, LIMIT_OF_PROTEINS = 45.0, 120.0  # seconds
CHANGED = 0.4
_TOO_SLOW = 124  # exit code of timeout


def family(n: int, length: int) -> list[str]:
    """Sequences at the leaves of a tree."""
    rng = np.random.default_rng(0)
    found = [rng.choice(RESIDUES, length)]
    share = CHANGED / np.log2(n)
    while len(found) < n:
        found = [mutated(rng, sequence, share) for sequence in found for _ in range(2)]
    return ["".join(sequence) for sequence in found[:n]]


def mutated(rng: np.random.Generator, sequence: Any, share: float) -> Any:
    """With a share of other residues, and a fiftieth as many insertions and deletions."""
    out = sequence.copy()
    at = rng.random(out.size) < share
    out[at] = rng.choice(RESIDUES, at.sum())
    for _ in range(rng.poisson(share * out.size / 50)):
        place, length = rng.integers(out.size), rng.geometric(0.3)
        if rng.random() < 0.5:
            out = np.delete(out, slice(place, place + length))
        else:
            out = np.insert(out, place, rng.choice(RESIDUES, length))
    return out


def taken(program: str, path: Path, limit: float = LIMIT) -> dict[str, float] | None:
    """Seconds and megabytes of one run; None if it was too slow."""
    to_file = ["-output", f"{path}.aln"] if program == "muscle" else []
    start = time.perf_counter()
    with open(f"{path}.aln", "w") as out:
        command = ["timeout", str(limit), *PROGRAMS[program], str(path), *to_file]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) == _TOO_SLOW:
        return None
    if status:
        raise RuntimeError(f"{program} failed on {path}")
    return {"seconds": time.perf_counter() - start, "megabytes": usage.ru_maxrss / 1024}


def measured(label: str, sizes: list[tuple[int, int]], folder: Path) -> list[dict[str, Any]]:
    rows, slow = [], set[str]()
    limit = LIMIT_OF_PROTEINS if label == "proteins" else LIMIT
    for n, length in sizes:
        path = folder / f"{n}-{length}.fa"
        path.write_text("".join(f">s{k}\n{s}\n" for k, s in enumerate(family(n, length))))
        costs = {}
        for program in PROGRAMS:
            if which(PROGRAMS[program][0]) and program not in slow:
                if (cost := taken(program, path, limit)) is None:
                    slow.add(program)
                else:
                    costs[program] = cost
        print(n, length, {name: round(cost["seconds"], 1) for name, cost in costs.items()}, flush=True)
        rows.append({"sequences": n, "residues": length, "costs": costs})
    return rows


def figure(varied: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Seconds and memory against both sizes."""
    from matplotlib.figure import Figure

    drawing = Figure((10, 7), layout="constrained")
    axes = drawing.subplots(2, 2, sharex="col")
    for column, (label, rows) in zip(axes.T, list(varied.items())[:2], strict=True):
        size = label.split()[0]
        for axis, quantity in zip(column, ("seconds", "megabytes"), strict=True):
            for program in PROGRAMS:
                points = [(r[size], r["costs"][program][quantity]) for r in rows if program in r["costs"]]
                axis.loglog(*zip(*points, strict=True), "o-", label=program, markersize=4)
            axis.set_ylabel(quantity)
            axis.grid(alpha=0.25)
        column[1].set_xlabel(label if size == "sequences" else f"{size}, of {label.split()[-1]} sequences")
    axes[0, 1].legend(fontsize=8)
    drawing.savefig(path, dpi=110)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first.fa").write_text(">a\nMKVLA\n>b\nMKVIA\n")
        taken("structune", folder / "first.fa")  # compiles
        varied = {
            label: measured(label, sizes, folder) for label, sizes in (QUICK if quick else VARIED).items()
        }
    figure(varied, keep(NAME, quick, {"varied": varied}).with_suffix(".png"))


if __name__ == "__main__":
    main()
