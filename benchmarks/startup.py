"""What a user waits for before anything is learned: installation, import, help, the first prediction.

    python benchmarks/startup.py            some five minutes; installs from the package index that pip uses
    python benchmarks/startup.py --quick    without the installation, each once, to a temporary folder

Times are medians of processor time, user and system, of processes of their own, the start of Python included.
"cold" is with an empty cache of compiled kernels, as at the first use after an installation; "warm" with the
cache that this left. Inputs are as small as can be: what is left is the start.

What a warm prediction is spent on is told by differences of programs that do nothing but import click, NumPy,
numba and then the modules of structune that the command loads, with what these import in their turn. Kernels
are read within numba's dispatchers, which is timed in runs of their own. The rest is building the command,
reading the model and the input, predicting, writing, and how far the runs differ. What a cold prediction
takes longer is compiling, with the parts of numba that are imported for it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, keep
from structune import GeneFinder
from structune.genes import AnnotatedSequence, Transcript

NAME = "startup"
REPEATS, COLD_REPEATS = 7, 3
ROOT = Path(__file__).parent.parent
RUN = "import sys; from structune.cli import run; run(sys.argv[1:])"
MODULES = "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr)); "
WATCH = """
import atexit, sys, time
from numba.core.dispatcher import Dispatcher
spent, compile = [0.0], Dispatcher.compile
def watched(self, signature):
    start = time.process_time()
    try:
        return compile(self, signature)
    finally:
        spent[0] += time.process_time() - start
Dispatcher.compile = watched
atexit.register(lambda: print(spent[0], file=sys.stderr))
"""
COMMANDS = {
    "fold": "fold rna.fa",
    "align": "align proteins.fa",
    "predict": "predict tagger words.txt",
    "rank": "rank ranker documents.txt",
    "genes, eukaryote": "genes dna.fa --model genes",
    "genes, prokaryote": "genes dna.fa --model pretrained",
}
SIZES = """
import importlib.metadata as m, json
def size(d):
    return sum(f.locate().stat().st_size for f in d.files or () if f.locate().exists())
print(json.dumps({d.name: size(d) for d in m.distributions()}))
"""


def make_inputs(folder: Path) -> None:
    """Small files, and models of the kinds that come with none."""
    (folder / "rna.fa").write_text(">a\nGGGGAAAACCCCAGGCUUAGCGAAAGCUAAGCC\n")
    (folder / "proteins.fa").write_text(">a\nMKTAYIAKQRQISFVKSHFSRQ\n>b\nMKTAYIAKQRISFVKAHFSRQ\n")
    (folder / "words.txt").write_text("the\nnew\ncat\n")
    (folder / "dna.fa").write_text(">a\n" + "ATGGCATTAGCGTAA" * 100 + "\n")
    (folder / "train.txt").write_text("the DET\ncat NOUN\n\na DET\ndog NOUN\n")
    documents = [f"{k % 2} qid:{q} 1:{(k + q) % 2}.5 2:{k}" for q in range(4) for k in range(3)]
    (folder / "documents.txt").write_text("\n".join(documents) + "\n")
    for words in ("train tagging train.txt -m tagger -q", "train ranking documents.txt -m ranker -q"):
        subprocess.run([sys.executable, "-c", RUN, *words.split()], cwd=folder, check=True)
    gene, between = f"ATG{'GCCGAG' * 5}GTAAGT{'ATTCT' * 5}CAG{'CTGAAG' * 5}TAA", "ATTAAATC" * 9
    exons = (len(between), len(between) + 33), (len(between) + 67, len(between) + len(gene))
    known = AnnotatedSequence("c", between + gene + between, (Transcript("c", "+", exons, "t", "g"),))
    GeneFinder(tuning=None, n_jobs=1).fit([known]).save(folder / "genes")


def processor_seconds(code: str, repeats: int, words: str = "", **where: Any) -> float:
    """Median of so many processes."""
    command = [sys.executable, "-c", code, *words.split()]
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **where)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return float(np.median(times))


def told(code: str, words: str, **where: Any) -> list[str]:
    """The words of the last line that a process writes to standard error."""
    command = [sys.executable, "-c", code, *words.split()]
    done = subprocess.run(command, check=True, capture_output=True, text=True, **where)
    return done.stderr.splitlines()[-1].split()


class Imports:
    """What programs take that import no more than this or that."""

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self._python = processor_seconds("pass", repeats)
        self._of = {"click": self._only("click"), "numpy": self._only("numpy")}
        self._of["numba"] = self._only("numpy", "numba") - self._of["numpy"]

    def _only(self, *modules: str) -> float:
        return processor_seconds(f"import {', '.join(modules)}", self._repeats) - self._python

    def parts(self, modules: list[str]) -> dict[str, float]:
        """Of a program that loads these modules."""
        found = {name: self._of[name] if name in modules else 0.0 for name in self._of}
        own = [name for name in modules if name.startswith("structune")]
        with_own = self._only(*(name for name in found if name in modules), *own)
        return {"Python": self._python, **found, "modules of structune": with_own - sum(found.values())}


def first_prediction(words: str, folder: Path, repeats: tuple[int, int], start: Imports) -> dict[str, Any]:
    """Cold and warm, and what the warm one is spent on."""
    cold = []
    with tempfile.TemporaryDirectory() as caches:
        for k in range(repeats[1]):
            where = {"cwd": folder, "env": {**os.environ, "STRUCTUNE_CACHE": f"{caches}/{k}"}}
            cold.append(processor_seconds(RUN, 1, words, **where))
        modules = told(MODULES + RUN, words, **where)
        whole = processor_seconds(RUN, repeats[0], words, **where)
        reads = range(repeats[0] if "numba" in modules else 0)
        kernels = [float(told(WATCH + RUN, words, **where)[0]) for _ in reads]
    parts = {**start.parts(modules), "kernels": float(np.median(kernels or [0.0]))}
    parts["rest"] = whole - sum(parts.values())
    return {"modules": len(modules), "cold": float(np.median(cold)), "warm": whole, "spent on": parts}


def installed() -> dict[str, Any]:
    """Seconds that pip takes in a new environment, and the bytes of every distribution there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        before = set(json.loads(subprocess.check_output([python, "-c", SIZES])))
        start = time.perf_counter()
        constraints = str(ROOT / "constraints.txt")
        subprocess.run([python, "-m", "pip", "install", "-q", "-c", constraints, str(ROOT)], check=True)
        taken = time.perf_counter() - start
        sizes = json.loads(subprocess.check_output([python, "-c", SIZES]))
    sizes = {name: n for name, n in sizes.items() if name not in before}
    return {"seconds": taken, "distributions": len(sizes), "bytes": sum(sizes.values()), "by name": sizes}


def measured(warm_repeats: int, cold_repeats: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "python": processor_seconds("pass", warm_repeats),
        "import structune": processor_seconds("import structune", warm_repeats),
        "structune --help": processor_seconds(RUN, warm_repeats, "--help"),
        "first prediction": {},
    }
    start = Imports(warm_repeats)
    with tempfile.TemporaryDirectory() as folder:
        make_inputs(Path(folder))
        for name, words in COMMANDS.items():
            repeats = warm_repeats, cold_repeats
            found["first prediction"][name] = first_prediction(words, Path(folder), repeats, start)
    return found


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    result = measured(1, 1) if quick else measured(REPEATS, COLD_REPEATS)
    if not quick:
        result["installation"] = installed()
    result["load"] = os.getloadavg()[0]
    print(json.dumps(result, indent=1))
    keep(NAME, quick, result)


if __name__ == "__main__":
    main()
