"""Fits of all kinds whose processes are killed: the part `kills` of chaos.py.

Processes are forks of one that has imported and compiled everything: a life begins in milliseconds.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

KILLS, QUICK_KILLS = 1000, 60
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
INTERVALS = (0.0, 0.01, 0.1)  # seconds between two files of a checkpoint
FIRST, GROWTH = 1 / 20, 1.06  # the mean time to a kill, of what the work takes, and how it grows
SAVES = 5  # of each model, one after the other
CUT = 130  # exit code of a process that Ctrl-C has ended
MOST_SECONDS = 60.0  # of a life
TOLERANCE = 1e-2  # what tuners leave of the precisions, relative to the objective
_ENDS = ("objective", "heldout_loss")  # of the last record
_COUNTS = (
    "lost states",
    "half-written models",
    "errors",
    "other ends",
)


def kills(quick: bool) -> dict[str, Any]:
    """Works are killed and begun again until so many processes have died."""
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [sys.executable, __file__, str(path), str(QUICK_KILLS if quick else KILLS)]
        subprocess.run(command, env=os.environ | one_thread, check=True)  # whose forks have no threads
        found: dict[str, Any] = json.loads(path.read_text())
    failed = {name: found[name] for name in _COUNTS if found[name]}
    if failed:
        raise RuntimeError(f"found {failed} of {found['kills']} kills: {found}")
    return found


def serve(path: Path, n: int) -> None:
    """Kill until `n` have died, and write what became of the works."""
    from chaos_works import all_works

    warnings.simplefilter("ignore")  # of fits that do not converge, or collapse
    works = [Killed(name, work, path.parent) for name, work in all_works().items()]
    for round_ in count():  # all works as often
        for k, work in enumerate(works):
            work.end_after_kills(np.random.default_rng([round_, k]))
        print("killed", sum(work.kills for work in works), flush=True)
        if sum(work.kills for work in works) >= n:
            break
    rows = [work.told() for work in works]
    whole = {name: sum(row[name] for row in rows) for name in ("kills", "in a write", "ends", *_COUNTS)}
    whole["signals"] = {s.name: sum(work.signals[s] for work in works) for s in SIGNALS}
    messages = [message for work in works for message in work.messages]
    path.write_text(json.dumps({**whole, "messages": messages, "works": rows}))


class Killed:
    """A work whose processes are killed, and what became of it."""

    def __init__(self, name: str, work: Any, folder: Path) -> None:
        work(None)  # compiles
        if len(os.listdir("/proc/self/task")) > 1:
            raise RuntimeError(f"{name}: found threads, which forks would be without")
        self.name, self.work = name, work
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.kills, self.in_a_write, self.ends = 0, 0, 0
        self.signals = dict.fromkeys(SIGNALS, 0)
        self.found = dict.fromkeys(_COUNTS, 0)
        self.messages: list[str] = []
        start = time.perf_counter()
        if self._life(0.0):
            raise RuntimeError(f"{name}: {self._error()}")
        self.seconds = time.perf_counter() - start
        self.expected = Ending.of_file(self.model)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    def end_after_kills(self, rng: np.random.Generator) -> None:
        """Kill its processes until one comes to its end."""
        mean, interval, has_state = FIRST * self.seconds, float(rng.choice(INTERVALS)), False
        self.old, left = self.model.stat().st_mtime_ns, set[int]()
        while code := self._life(interval, rng.exponential(mean), SIGNALS[rng.integers(len(SIGNALS))]):
            mean *= GROWTH
            partial = {path.stat().st_mtime_ns for path in self.folder.glob("*.partial")}
            self.in_a_write += bool(partial - left)  # not those that earlier ones left
            left |= partial
            self._check_files(has_state)
            has_state = self.checkpoint.exists()
            if code == 1:
                self._fail("errors", self._error())
                break
        else:
            self.ends += 1
            self._compare()
        for path in self.folder.glob("checkpoint*"):
            path.unlink()

    def _life(self, interval: float, seconds: float = MOST_SECONDS, sign: Any = signal.SIGKILL) -> int:
        """A process that works until it ends, or is killed; 0 if the work is done."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the child can catch it
        child = os.fork()
        if not child:
            self._live(interval)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        code = _wait(child, seconds)
        if code is None:
            os.kill(child, sign)
            self.kills += 1
            self.signals[sign] += 1
            code = _wait(child, MOST_SECONDS)  # Ctrl-C takes its time
            if code is None:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                self._fail("errors", f"alive {MOST_SECONDS:.0f} s after {sign.name}")
                return CUT
        return code

    def _live(self, interval: float) -> None:
        """As commands do: fit, save, remove the checkpoint."""
        from structune.running import Checkpoint

        code = 1
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            checkpoint = Checkpoint(self.checkpoint, interval, lasting=True)
            model = self.work(checkpoint)
            if checkpoint.is_done:
                for _ in range(SAVES):
                    model.save(self.model)
                checkpoint.remove()
            code = 0 if checkpoint.is_done else CUT
        except KeyboardInterrupt:
            code = CUT
        except BaseException:
            (self.folder / "error").write_text(traceback.format_exc())
        finally:
            os._exit(code)

    def _check_files(self, had_state: bool) -> None:
        """What a process leaves behind can be read, and what was there still is."""
        from structune import load
        from structune.files.models import read_model

        if self.checkpoint.exists():
            try:
                read_model(self.checkpoint)
            except ValueError as error:
                self._fail("lost states", str(error))
        elif had_state and self.model.stat().st_mtime_ns == self.old:  # not because the work was done
            self._fail("lost states", "no file")
        try:
            load(self.model)  # the old one, or the new
        except (ValueError, OSError) as error:
            self._fail("half-written models", str(error))

    def _compare(self) -> None:
        found = Ending.of_file(self.model)
        if not found.is_like(self.expected):
            self._fail("other ends", f"{found.status} {found.last}, expected {self.expected}")

    def _error(self) -> str:
        path = self.folder / "error"
        return path.read_text() if path.exists() else "no message"

    def _fail(self, count: str, message: str) -> None:
        self.found[count] += 1
        self.messages.append(f"{self.name}: {count}: {message}")

    def told(self) -> dict[str, Any]:
        counts = {"kills": self.kills, "in a write": self.in_a_write, "ends": self.ends}
        return {"work": self.name, "seconds": self.seconds, **counts, **self.found}


@dataclass(frozen=True)
class Ending:
    """What a model file says of how its fit ended: in which way, and with which numbers."""

    status: str
    last: dict[str, float]

    @classmethod
    def of_file(cls, path: Path) -> Ending:
        from structune.files.models import read_model

        header, _ = read_model(path)
        status = header.get("status", "")  # a tree has one a node
        last = {name: v for name, v in header["history"][-1].items() if name in _ENDS}
        return cls(status, last)

    def is_like(self, other: Ending) -> bool:
        """But for what the tolerance of a fit lets differ."""
        if (self.status, self.last.keys()) != (other.status, other.last.keys()):
            return False
        pairs = [(self.last[name], other.last[name]) for name in self.last]
        return all(math.isclose(a, b, rel_tol=TOLERANCE) for a, b in pairs)


def _wait(child: int, seconds: float) -> int | None:
    """The exit code of a process, negative where a signal ended it; None if it lives on."""
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(left, 0.001))
    return None


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
