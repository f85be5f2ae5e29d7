"""What the benchmarks share: where results go, and what machine they came from."""

from __future__ import annotations

import argparse
import base64
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structune.files.data_sets import find
from structune.learning import paired_difference

RESULTS = Path(__file__).parent / "results"

_CONTRAFOLD = "rna/contrafold.params.complementary"


def parser_of(description: str) -> argparse.ArgumentParser:
    """The options of a benchmark: --quick, which all have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    return parser


def asked_to_be_quick(description: str) -> bool:
    """Whether --quick was given, the only option of a benchmark."""
    return bool(parser_of(description).parse_args().quick)


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def peak_bytes() -> int:
    """The most memory that this process has had; ru_maxrss begins at that of the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("found no VmHWM in /proc/self/status")


@contextmanager
def memory_group(limit: int) -> Iterator[Path | None]:
    """A control group (version 1) that the kernel holds to so many bytes, files in its cache included.

    None where none can be made, which takes root in a container.
    """
    group = Path("/sys/fs/cgroup/memory") / f"structune-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        group.rmdir()


def staged(command: Sequence[str], group: Path | None) -> dict[str, Any]:
    """What a process tells in JSON on its last line, and its seconds; the group holds it, if there is one."""

    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], preexec_fn=enter, stdout=subprocess.PIPE, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**told, "seconds": time.perf_counter() - start}


def succeed(*words: Any) -> None:
    """Run a command in this process; one that fails ends it."""
    from structune.cli import run

    try:
        run([str(word) for word in words])
    except SystemExit as end:
        if end.code:
            raise


def folder_for(name: str, quick: bool) -> Path:
    """Where results go: those of a quick run into a temporary folder."""
    return Path(tempfile.mkdtemp(prefix=name)) if quick else RESULTS


def mean_difference(base: ArrayLike, other: ArrayLike, n: int = 2000) -> dict[str, Any]:
    """Mean of other - base with its interval, a paired bootstrap over n resamples."""
    a, b = np.asarray(base, dtype=np.float64), np.asarray(other, dtype=np.float64)
    found = paired_difference(a[:, None], b[:, None], lambda sums: sums[..., 0] / len(a), n=n)
    return {**vars(found), "text": str(found)}


def pack(values: NDArray[Any]) -> str:
    """Numbers of each example, in few characters."""
    return base64.b85encode(zlib.compress(values.tobytes(), 9)).decode()


def unpack(text: str, like: str, n: int) -> NDArray[Any]:
    """What was packed, with a row for each of n examples."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), like).reshape(n, -1)


def contrafold_parameters() -> Path:
    """CONTRAfold's parameter file."""
    return find(_CONTRAFOLD)


def crfsuite_trainer(x: Any, y: Any, **settings: Any) -> Any:
    """CRFsuite with sequences to learn from; without c1 unless the settings have one."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for xs, ys in zip(x, y, strict=True):
        trainer.append(xs, ys)
    trainer.set_params({"c1": 0.0, **settings})
    return trainer


def crfsuite_labels(path: str, x: Any) -> list[list[str]]:
    """What a model of CRFsuite's predicts."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return [tagger.tag(xs) for xs in x]


def alternately(functions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def peak() -> float:
    """Multiply-adds a second that one thread of BLAS reaches, which is close to what the processor can do."""
    from threadpoolctl import threadpool_limits

    a = np.random.default_rng(0).random((1000, 1000))
    with threadpool_limits(1):
        seconds = alternately({"matrix product": lambda: a @ a}, 9)["matrix product"]
    return 1e9 / seconds


def machine(*packages: str) -> dict[str, Any]:
    """The machine, and the versions of what was measured."""
    model = "unknown"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model
        )
    names = ("structune", "numpy", "scipy", "numba", *packages)
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in names},
    }


def write(name: str, result: dict[str, Any], *packages: str) -> Path:
    """Write results/NAME.json, with the machine."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(*packages), **result}, indent=1) + "\n")
    return path


def keep(name: str, quick: bool, result: dict[str, Any], *packages: str) -> Path:
    """Write a result where it goes, and tell where that is."""
    path = write(str(folder_for(name, quick) / name), result, *packages)
    print("written to", path)
    return path
