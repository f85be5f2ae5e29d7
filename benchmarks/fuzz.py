"""Mutated files through all loaders of models, data, shards and checkpoints: no crash, no hang, no code run.

    python benchmarks/fuzz.py                      # a million cases, about an hour on one core
    python benchmarks/fuzz.py --seconds 600        # as many as fit; a run goes on where the results end
    python benchmarks/fuzz.py --anew               # from the first case, whatever the results have
    NUMBA_BOUNDSCHECK=1 python benchmarks/fuzz.py --cases 50000   # kernels that refuse wrong indices
    python benchmarks/fuzz.py --case tagging:17    # one case again, in this process
    python benchmarks/fuzz.py --quick              # some cases of each loader, into a temporary folder

The loaders, their mutations and what must hold are those of the test suite (tests/fuzz_targets.py). Case k of
a loader is drawn with the seed "SEED:LOADER:k", so that it can be made again. Batches of cases run in forked
processes, which report each case by a pipe; what a process that dies did not report is the case to look at.
An alarm ends cases that hang, and the address space of processes is limited. Seconds are those of a case with
its mutation; the slowest compile kernels that no valid input needs. MB are by how much the memory of a
process grew at most. Inputs of failures go to a folder beside the results.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba

from common import folder_for, parser_of, write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # what is fuzzed there, and how

from fuzz_targets import TARGETS, Target, outcome

NAME = "fuzz"
CASES, QUICK_CASES = 1_000_000, 50 * len(TARGETS)
BATCH = 500
MOST_SECONDS = 60  # of a case, before it counts as a hang
MOST_MEMORY = 2 << 30  # beyond what a process has at its start
_NEW: dict[str, Any] = {"cases": 0, "seconds": 0.0, "peak_mb": 0.0, "slowest_seconds": 0.0, "slowest_case": 0}


def reports(target: Target, seed: int, numbers: range, scratch: Path) -> Iterator[list[Any]]:
    """Outcome, seconds and MB of each case, from a new process; the last one says how it died, if it did."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        try:
            _work(target, seed, numbers, scratch, sink)
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source) as lines:
        yield from map(json.loads, lines)
    if signalled := os.waitpid(child, 0)[1] & 0x7F:
        what = "a hang" if signalled == signal.SIGALRM else f"a crash by {signal.Signals(signalled).name}"
        yield [f"failed: {what}", 0.0, 0.0]


def _work(target: Target, seed: int, numbers: range, scratch: Path, sink: int) -> None:
    """Report cases one by one."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k in numbers:
        signal.alarm(MOST_SECONDS)  # which ends the process
        begun = time.perf_counter()
        try:
            found = outcome(target, target.case(k, seed), scratch / "input")
        except BaseException as error:
            found = f"failed: {''.join(traceback.format_exception_only(error)).strip():.300}"
        seconds = time.perf_counter() - begun
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os.write(sink, (json.dumps([found, round(seconds, 4), round(grown / 1024, 1)]) + "\n").encode())


class Log:
    """What became of the cases of each loader, and the inputs that failed."""

    def __init__(self, file: Path, seed: int, anew: bool) -> None:
        self.file, self.seed = file, seed
        self.result: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"runs": {}}
        self.result.pop("machine", None)
        name = "bounds checks" if numba.config.BOUNDSCHECK else "plain"
        if anew:
            self.result["runs"].pop(name, None)
        run = self.result["runs"].setdefault(name, {"seed": seed, "loaders": {}})
        if run["seed"] != seed:
            raise SystemExit(f"{file} has a run with the seed {run['seed']}: go on with that, or add --anew")
        self.loaders = run["loaders"]

    def record(self, target: Target) -> dict[str, Any]:
        """That of a loader."""
        new = {**_NEW, "outcomes": {}, "failures": []}
        found: dict[str, Any] = self.loaders.setdefault(target.name, new)
        return found

    def add(self, target: Target, found: str, seconds: float, megabytes: float) -> None:
        """One more case."""
        record = self.record(target)
        k, outcome = record["cases"], found.partition(":")[0]
        record["cases"] += 1
        record["outcomes"][outcome] = record["outcomes"].get(outcome, 0) + 1
        record["peak_mb"] = max(record["peak_mb"], megabytes)
        if seconds > record["slowest_seconds"]:
            record["slowest_seconds"], record["slowest_case"] = seconds, k
        if outcome == "failed":
            record["failures"].append({"case": k, "what": found})
            folder = self.file.parent / f"{NAME}_failures"
            folder.mkdir(exist_ok=True)
            file = folder / f"{target.name}-{self.seed}-{k}".replace(" ", "-")
            file.write_bytes(target.case(k, self.seed))
            print(f"{target.name}:{k}: {found}", file=sys.stderr, flush=True)

    def write(self) -> None:
        """All results so far."""
        settings = {"batch": BATCH, "most_seconds": MOST_SECONDS, "most_memory_mb": MOST_MEMORY >> 20}
        write(
            str(self.file.with_suffix("")), {"settings": settings, **self.result}, "safetensors", "biopython"
        )


def fuzz(log: Log, targets: list[Target], n_cases: int, seconds: float, scratch: Path) -> None:
    """All cases, in rounds of a batch for each loader."""
    end, total = time.monotonic() + seconds, sum(target.share for target in targets)
    most = {target.name: math.ceil(n_cases * target.share / total) for target in targets}
    while left := [target for target in targets if log.record(target)["cases"] < most[target.name]]:
        for target in left:
            record = log.record(target)
            begun, start = time.perf_counter(), record["cases"]
            stop = min(most[target.name], start + math.ceil(BATCH * target.share))
            for report in reports(target, log.seed, range(start, stop), scratch):
                log.add(target, *report)
            record["seconds"] = round(record["seconds"] + time.perf_counter() - begun, 2)
            if time.monotonic() > end:
                break
        log.write()
        counted = sum(record["cases"] for record in log.loaders.values())
        print(f"{counted} cases", file=sys.stderr, flush=True)
        if time.monotonic() > end:
            break


def warm_up(targets: list[Target], scratch: Path) -> None:
    """Make the valid inputs, use each, and so compile the kernels, before any process is forked."""
    for target in targets:
        for data in target.seeds():
            (scratch / "input").write_bytes(data)
            target.use(scratch / "input")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--cases", type=int, help="of all loaders together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", nargs="+", metavar="LOADER", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--case", metavar="LOADER:K")
    parser.add_argument("--anew", action="store_true", help="forget what ran before")
    arguments = parser.parse_args()
    if arguments.anew and arguments.only != list(TARGETS):
        parser.error("--anew is for all loaders: leave out --only")
    memory = Path("/dev/shm")  # files that never reach a disk, where there is such a folder
    with tempfile.TemporaryDirectory(prefix=NAME, dir=memory if memory.is_dir() else None) as folder:
        scratch = Path(folder)
        if arguments.case:
            name, _, k = arguments.case.partition(":")
            print(outcome(TARGETS[name], TARGETS[name].case(int(k), arguments.seed), scratch / "input"))
            return
        targets = [TARGETS[name] for name in arguments.only]
        warm_up(targets, scratch)
        log = Log(folder_for(NAME, arguments.quick) / f"{NAME}.json", arguments.seed, arguments.anew)
        n_cases = arguments.cases or (QUICK_CASES if arguments.quick else CASES)
        fuzz(log, targets, n_cases, arguments.seconds, scratch)
    print(f"written to {log.file}")


if __name__ == "__main__":
    main()
