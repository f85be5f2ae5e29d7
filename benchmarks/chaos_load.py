"""Fits beside processes that hold all cores: the part `load` of chaos.py."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import Any

import numpy as np

REPEATS, QUICK_REPEATS = 3, 1
JOBS = (1, 2)


def load(quick: bool) -> dict[str, Any]:
    """Seconds of fits alone, and beside a busy loop for each core, in turns; each in a process of its own."""
    rows = [measured(kind, jobs, QUICK_REPEATS if quick else REPEATS) for kind in FITS for jobs in JOBS]
    return {"busy loops": os.cpu_count(), "fits": rows}


def measured(kind: str, jobs: int, repeats: int) -> dict[str, Any]:
    times: dict[str, list[tuple[float, float]]] = {"alone": [], "beside": []}
    with fitting(kind, jobs) as seconds:
        for _ in range(repeats):
            times["alone"].append(seconds())
            with busy_loops():
                times["beside"].append(seconds())
    wall, cpu = ({n: statistics.median(t[k] for t in found) for n, found in times.items()} for k in (0, 1))
    found = {
        "fit": kind,
        "n_jobs": jobs,
        "seconds": wall,
        "processor seconds": cpu,
        "times as long": wall["beside"] / wall["alone"],
        "times the processor time": cpu["beside"] / cpu["alone"],
    }
    print(found, flush=True)
    return found


@contextmanager
def fitting(kind: str, jobs: int) -> Any:
    """A function that has another process fit once more, and gives its seconds and processor seconds."""
    command = [sys.executable, __file__, kind, str(jobs)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(command, **pipes) as process:

        def seconds() -> tuple[float, float]:
            process.stdin.write("\n")
            return tuple(json.loads(process.stdout.readline()))

        seconds()  # compiles
        yield seconds
        process.stdin.close()


@contextmanager
def busy_loops() -> Any:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def tagger(jobs: int) -> Any:
    from chaos_cluster import examples
    from structune import SequenceTagger
    from structune.running import Run

    x, y = examples()
    return lambda: SequenceTagger(penalty=1e-4, run=Run(tolerance=1e-9), n_jobs=jobs).fit(x, y)


def classifier(jobs: int) -> Any:
    from structune import Classifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(5_000, 200))
    y = (x[:, :5] + rng.normal(size=(5_000, 5))).argmax(axis=1)
    return lambda: Classifier(tuning="grid", n_jobs=jobs).fit(x, y)


def folder(jobs: int) -> Any:
    from structune import RNAFolder
    from structune.running import Run

    rng = np.random.default_rng(0)
    stems = ["".join(rng.choice(list("ACGU"), 30)) for _ in range(60)]
    other = str.maketrans("ACGU", "UGCA")
    sequences = [f"{stem}GAAA{stem[::-1].translate(other)}" for stem in stems]
    structures = ["(" * 30 + "...." + ")" * 30] * len(sequences)
    return lambda: RNAFolder(tuning=None, n_jobs=jobs, run=Run(max_iterations=20)).fit(sequences, structures)


FITS = {"tagger": tagger, "classifier": classifier, "RNA folder": folder}


def serve(kind: str, jobs: int) -> None:
    """Fit for every line that comes in."""
    import warnings

    warnings.simplefilter("ignore")
    fit = FITS[kind](jobs)
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        fit()
        print(json.dumps([time.perf_counter() - start, time.process_time() - cpu]), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
