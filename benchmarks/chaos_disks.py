"""Disks that are full or read-only, damaged caches and closed pipes: the part `disks` of chaos.py.

It works in a mount namespace of its own, where it has small disks whether or not it is run by root.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SMALL = 1 << 20  # bytes, of a disk
PROCESSES = 4  # with one cold cache
STRUCTUNE = [sys.executable, "-c", "from structune.cli import main; main()"]
_RESUMES = """
import sys, warnings, numpy as np
from structune import SequenceTagger, load
from structune.files.models import read_model
from structune.running import Checkpoint, Run
words = [[[f"w={(7 * i * j) % 11}"] for j in range(8)] for i in range(40)]
tags = [["ab"[(i * j) % 3 > 1] for j in range(8)] for i in range(40)]
run = Run(None, float(sys.argv[2]), Checkpoint(sys.argv[1], 0.0, lasting=True))
model = SequenceTagger(n_jobs=1, tuning="implicit", cv=2, run=run)
model.fit(words, tags)
read_model(sys.argv[1])
print(model.status_, model.coef_.tobytes().hex())
"""


def disks(quick: bool) -> dict[str, Any]:
    """What commands do in such places; the same when `quick`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = ["unshare", "--map-root-user", "--mount", sys.executable, __file__, str(path)]
        subprocess.run(command, check=True)
        rows = json.loads(path.read_text())
    if wrong := [failure for row in rows for failure in row["failures"]]:
        raise RuntimeError(f"found {len(wrong)} failures: {wrong}")
    return {"cases": rows}


@dataclass
class Case:
    """What was tried under one heading, and what was wrong."""

    what: str
    runs: int = 0
    codes: set[int] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def run(self, *args: Any, code: int = 2, lines: int = 1, **options: Any) -> Any:
        """A command, which has to end with an exit code, and to say so many lines on standard error."""
        done = run(*args, **options)
        self.expect(done.returncode == code, f"{args}: exit code {done.returncode}, expected {code}: ", done)
        self.expect(done.stderr.count("\n") == lines, f"{args}: expected {lines} lines on stderr: ", done)
        self.runs += 1
        self.codes.add(done.returncode)
        return done

    def expect(self, holds: bool, message: str, done: Any = None) -> None:
        if not holds:
            self.failures.append(message + ("" if done is None else done.stderr[-2000:]))


def run(*args: Any, **options: Any) -> Any:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.run([*STRUCTUNE, *map(str, args)], check=False, **options)


class Place:
    """A folder with inputs and models, and what commands write where there is room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(0)
        words = rng.integers(0, 400, (200, 8))
        lines = ["\n".join(f"w{word} {'AB'[word % 2]}" for word in row) for row in words]
        self.write("train.txt", "\n\n".join(lines) + "\n")
        bases = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(400)]
        self.write("rna.fa", "".join(f">{k}\n{b}\n" for k, b in enumerate(bases)))
        self.write("dna.fa", ">dna\n" + "".join(bases) + "\n")
        proteins = ["".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), 60)) for _ in range(2)]
        self.write("pair.fa", "".join(f">{k}\n{p}\n" for k, p in enumerate(proteins)))
        rows = [
            f"{rng.integers(3)} qid:{k // 8} 1:{rng.normal():.3f} 2:{rng.normal():.3f}" for k in range(80)
        ]
        self.write("queries.txt", "\n".join(rows) + "\n")
        self.model, self.ranker = folder / "tagger.structune", folder / "ranker.structune"
        check(run("train", folder / "train.txt", "--model", self.model, "--penalty", 1))
        check(run("train", "ranking", folder / "queries.txt", "--model", self.ranker, "--penalty", 1))
        self.predicting = {
            "predict": ("predict", self.model, folder / "train.txt"),
            "fold": ("fold", folder / "rna.fa", "-q"),
            "align": ("align", folder / "pair.fa"),
            "genes": ("genes", folder / "dna.fa", "--model", "pretrained"),
            "rank": ("rank", self.ranker, folder / "queries.txt"),
        }
        self.whole = {name: check(run(*args)) for name, args in self.predicting.items()}

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)


def check(done: Any) -> str:
    if done.returncode:
        raise RuntimeError(f"{done.args}: exit code {done.returncode}: {done.stderr}")
    return str(done.stdout)


@contextmanager
def disk(folder: Path, *options: str) -> Iterator[Path]:
    """A small disk."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path, left: int = 0) -> None:
    """Leave so many bytes, in whole pages."""
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            file.truncate(file.tell() - left)


# --- cases ------------------------------------------------------------------------------------------------


def checkpoints(place: Place, case: Case) -> None:
    """The one that was there is whole, there is one warning, and the fit ends as it would."""
    whole = _resume(place.folder / "checkpoint", 60.0)
    with disk(place.folder / "disk") as full:
        _resume(full / "checkpoint", 0.05)
        fill(full)
        found = _resume(full / "checkpoint", 60.0)
        case.expect(found.stdout == whole.stdout, "another fit: ", found)
        case.expect(found.stderr.count("no checkpoint") == 1, "expected one warning: ", found)
        case.runs, case.codes = 1, {found.returncode}


def _resume(path: Path, seconds: float) -> Any:
    command = [sys.executable, "-c", _RESUMES, str(path), str(seconds)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def models(place: Place, case: Case) -> None:
    """The old one stays, and the new one is where the message says."""
    with disk(place.folder / "disk") as full:
        model, old = full / "m.structune", place.model.read_bytes()
        for left in (0, 4096):
            (full / "filler").unlink(missing_ok=True)
            model.write_bytes(old)
            fill(full, left)
            # of two files that cannot be written, the checkpoint is the other
            done = case.run("train", place.folder / "train.txt", "--model", model, "--penalty", 2, lines=2)
            case.expect(model.read_bytes() == old, "the old model has changed")
            check(run("weights", done.stderr.split("saved as ")[1].split()[0]))
            case.expect(sorted(p.name for p in full.iterdir()) == ["filler", model.name], "something is left")


def shards(place: Place, case: Case) -> None:
    """Nothing is left of a folder."""
    with disk(place.folder / "disk") as full:
        for left in (0, 4096, 16384):
            (full / "filler").unlink(missing_ok=True)
            fill(full, left)
            case.run("shard", place.folder / "train.txt", full / "shards")
            case.expect(not (full / "shards").exists(), f"with {left} bytes: something is left")


def predictions(place: Place, case: Case) -> None:
    """What is written is the beginning of the whole."""
    with disk(place.folder / "disk") as full:
        fill(full, 4096)
        for name, args in place.predicting.items():
            output = full / "output"
            if len(place.whole[name]) > 4096:
                case.run(*args, "--output", output)
            else:
                case.run(*args, "--output", "/dev/full")
            written = output.read_text() if output.exists() else ""
            case.expect(place.whole[name].startswith(written), f"{name}: found other output")
            output.unlink(missing_ok=True)


def pages(place: Place, case: Case) -> None:
    """The model is saved all the same."""
    with disk(place.folder / "disk") as full:
        fill(full)
        model = place.folder / "with_page.structune"
        case.run(
            "train",
            place.folder / "train.txt",
            "--model",
            model,
            "--penalty",
            1,
            "--report",
            full / "page.html",
        )
        check(run("weights", model))


def _all_commands(place: Place) -> dict[str, tuple[Any, ...]]:
    model = place.folder / "printed.structune"
    return place.predicting | {
        "train": ("train", place.folder / "train.txt", "--model", model, "--penalty", 1),
        "evaluate": ("evaluate", place.model, place.folder / "train.txt"),
        "weights": ("weights", place.model),
        "help": ("train", "--help"),
        "version": ("--version",),
    }


def standard_output(place: Place, case: Case) -> None:
    """Of all commands; a model is saved before it is told of."""
    for args in _all_commands(place).values():
        with open("/dev/full", "w") as full:
            case.run(*args, stdout=full)
    check(run("weights", place.folder / "printed.structune"))


def pipes(place: Place, case: Case) -> None:
    """Read for a line, and closed: not a word."""
    for args in _all_commands(place).values():
        reading, writing = os.pipe()
        os.close(reading)
        try:
            case.run(*args, stdout=writing, code=1, lines=0)
        finally:
            os.close(writing)
    command = subprocess.Popen(
        [*STRUCTUNE, *map(str, place.predicting["fold"])], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    line = command.stdout.readline()
    command.stdout.close()
    said = command.stderr.read().decode()
    case.runs += 1
    case.expect((line, command.wait(), said) == (b">0\n", 1, ""), f"fold | head -1: {line!r} {said}")


def streams(place: Place, case: Case) -> None:
    """Closed ones: commands end as they would."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        shell = [
            "sh",
            "-c",
            f'exec "$@" {closed}',
            "sh",
            *STRUCTUNE,
            "fold",
            str(place.folder / "rna.fa"),
            "-q",
        ]
        done = subprocess.run(shell, capture_output=True, text=True, check=False)
        case.runs += 1
        case.codes.add(done.returncode)
        expected = "" if ">&-" in closed.split() else place.whole["fold"]
        case.expect((done.returncode, done.stdout, done.stderr) == (0, expected, ""), f"{closed}: ", done)


def read_only(place: Place, case: Case) -> None:
    """A home, and a cache: nothing is kept, nothing is said."""
    with disk(place.folder / "disk") as home:
        subprocess.run(["mount", "-o", "remount,ro", home], check=True)
        bare = {
            name: v for name, v in os.environ.items() if name not in ("XDG_CACHE_HOME", "STRUCTUNE_CACHE")
        }
        for more in ({"HOME": str(home)}, {"STRUCTUNE_CACHE": str(home / "cache")}):
            _folds_as_ever(place, case, bare | more)


def full_cache(place: Place, case: Case) -> None:
    with disk(place.folder / "disk") as cache:
        _folds_as_ever(place, case, os.environ | {"STRUCTUNE_CACHE": str(cache)})
        left = [path.name for path in cache.rglob("*.tmp.*")]
        case.expect(not left, f"found unfinished files: {left}")


def cold_cache(place: Place, case: Case) -> None:
    environment = os.environ | {"STRUCTUNE_CACHE": str(place.folder / "cold")}
    with ThreadPoolExecutor(PROCESSES) as side_by_side:
        list(side_by_side.map(lambda _: _folds_as_ever(place, case, environment), range(PROCESSES)))
    _folds_as_ever(place, case, environment)


def damaged_cache(place: Place, case: Case) -> None:
    """Every file of it, in several ways."""
    cache = place.folder / "damaged"
    for kind in ("nbi", "nbc"):
        for seed, damage in enumerate(_DAMAGES):
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(place.folder / "cold", cache)
            rng = np.random.default_rng(seed)
            for path in sorted(cache.rglob(f"*.{kind}")):
                path.write_bytes(damage(path.read_bytes(), rng))
            _folds_as_ever(place, case, os.environ | {"STRUCTUNE_CACHE": str(cache)})


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    found = np.frombuffer(data, np.uint8).copy()
    found[rng.integers(found.size, size=8)] ^= 1 << int(rng.integers(8))
    return found.tobytes()


_DAMAGES: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    lambda data, rng: b"",
    lambda data, rng: data[: len(data) // 2],
    lambda data, rng: rng.bytes(len(data)),
    _flip,
)


def _folds_as_ever(place: Place, case: Case, environment: dict[str, str]) -> None:
    done = case.run(*place.predicting["fold"], code=0, lines=0, env=environment)
    case.expect(done.stdout == place.whole["fold"], "found other structures")


CASES = {
    "full disk: checkpoint": checkpoints,
    "full disk: model": models,
    "full disk: folder of shards": shards,
    "full disk: predictions": predictions,
    "full disk: report": pages,
    "full disk: standard output": standard_output,
    "full disk: kernel cache": full_cache,
    "closed pipe": pipes,
    "closed streams": streams,
    "read-only home, read-only cache": read_only,
    "cold cache, four processes at once": cold_cache,
    "damaged cache": damaged_cache,
}


def serve(path: Path) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for what, function in CASES.items():
            case = Case(what)
            function(place, case)
            row = {
                "what": what,
                "runs": case.runs,
                "exit codes": sorted(case.codes),
                "failures": case.failures,
            }
            print(row, flush=True)
            rows.append(row)
    path.write_text(json.dumps(rows))


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
