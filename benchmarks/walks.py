"""How many files and functions of structune a piece of work passes, from the call to the result.

    python benchmarks/walks.py [--trace]

Counts the Python functions that are called, the files they stand in, and how often a call goes from one file
to another. Compiled kernels are not seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import structune
from common import succeed
from memory import T_RNA
from structune.learning import LogLoss, Risk, fit_l2
from structune.tagging.data.hmm import simulate_hmm

HOUSE = Path(structune.__file__).parent


class Walk:
    """Calls within the package while something runs."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str, int]] = set()
        self.moves: Counter[tuple[str, str]] = Counter()
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(HOUSE)) or code.co_name == "<module>":
            return
        self.calls += 1
        here, caller = code.co_filename, frame.f_back
        self.functions.add((here, code.co_qualname, code.co_firstlineno))
        if caller is not None and caller.f_code.co_filename.startswith(str(HOUSE)):
            before = caller.f_code.co_filename
            if before != here:
                self.moves[before, here] += 1

    @property
    def files(self) -> set[str]:
        return {file for file, *_ in self.functions}

    def follow(self, work: Callable[[], Any]) -> None:
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def chunks(path: Path, n: int) -> None:
    """A column file of words, tags and labels."""
    states, seen = simulate_hmm(n, 3, 4, length=10, agreement=0.8, random_state=0)
    rows = [
        "\n".join(f"w{''.join(map(str, w))} {'XYZ'[y]}" for w, y in zip(words, labels, strict=True))
        for words, labels in zip(seen, states, strict=True)
    ]
    path.write_text("\n\n".join(rows) + "\n")


def walks(folder: Path) -> dict[str, Callable[[], Any]]:
    """Each with what it needs ready."""
    chunks(folder / "train.txt", 40)
    (folder / "tRNA.fa").write_text(f">tRNA\n{T_RNA}\n")
    rng = np.random.default_rng(0)
    (folder / "genome.fa").write_text(">c\n" + "".join(rng.choice(list("ACGT"), 20_000)) + "\n")
    tagger = structune.SequenceTagger()
    encoded = tagger._encode_training([[["a"], ["b"]]] * 20, [["x", "y"]] * 20)
    risk = Risk.over(encoded.structure, LogLoss(), encoded.shard)

    def command(*args: Any) -> Callable[[], None]:
        def work() -> None:
            with redirect_stdout(TextIOWrapper(BytesIO())):
                succeed(*args)

        return work

    return {
        "weights through fit_l2": lambda: fit_l2(risk, np.ones(encoded.structure.n_weights)),
        "one tRNA through fold": command("fold", folder / "tRNA.fa", "--quiet"),
        "a CoNLL file through tune": command(
            "tune", folder / "train.txt", "-m", folder / "m", "--quiet", "--jobs", 1
        ),
        "a genome through genes": command("genes", folder / "genome.fa", "-m", "pretrained", "--quiet"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trace", action="store_true", help="also list the files of each walk")
    trace = parser.parse_args().trace
    print(f"{'walk':28}{'files':>7}{'functions':>11}{'calls':>10}{'moves':>10}")
    with tempfile.TemporaryDirectory() as name:
        for title, work in walks(Path(name)).items():
            work_once = Walk()
            work_once.follow(work)  # with what is imported and cached by the first run
            walk = Walk()
            walk.follow(work)
            n_moves = sum(walk.moves.values())
            print(f"{title:28}{len(walk.files):7}{len(walk.functions):11}{walk.calls:10,}{n_moves:10,}")
            for file in sorted(walk.files) if trace else ():
                print(f"    {Path(file).relative_to(HOUSE)}")


if __name__ == "__main__":
    main()
