"""What a user waits for before anything is learned: installation, import, help, the first prediction.

    python benchmarks/startup.py            some five minutes; installs from the package index that pip uses
    python benchmarks/startup.py --quick    without the installation, each twice, to a temporary folder

Times are medians of processes of their own, the start of Python included, which is given too.
"cold" is with an empty cache of compiled kernels, as at the first use after an installation; "warm" with the
cache that this left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, folder_for, write

NAME = "startup"
REPEATS = 7
ROOT = Path(__file__).parent.parent
TAG = """
from structune import SequenceTagger
X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
print(SequenceTagger(n_jobs=1).fit(X, [["DET", "NOUN"]] * 2).predict(X))
"""
FOLD = """
from structune import RNAFolder
print(RNAFolder.pretrained().predict(["GGGGAAAACCCC"]))
"""
CODE = {"tagger, fit and predict": TAG, "pretrained RNA folder": FOLD}
SIZES = """
import importlib.metadata as m, json
def size(d):
    return sum(f.locate().stat().st_size for f in d.files or () if f.locate().exists())
print(json.dumps({d.name: size(d) for d in m.distributions()}))
"""


def seconds(command: list[str], repeats: int, **environment: str) -> float:
    """Median of so many processes."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        times.append(time.perf_counter() - start)
    return float(np.median(times))


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


def measured(repeats: int) -> dict[str, Any]:
    python = [sys.executable, "-c"]
    found: dict[str, Any] = {
        "python": seconds([*python, "pass"], repeats),
        "import structune": seconds([*python, "import structune"], repeats),
        "structune --help": seconds([str(Path(sys.executable).parent / "structune"), "--help"], repeats),
        "first prediction": {},
    }
    for name, code in CODE.items():
        cold, warm = [], []
        for _ in range(max(1, repeats // 2)):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(seconds([*python, code], 1, STRUCTUNE_CACHE=cache))
                warm.append(seconds([*python, code], 2, STRUCTUNE_CACHE=cache))
        found["first prediction"][name] = {"cold": float(np.median(cold)), "warm": float(np.median(warm))}
    return found


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    result = measured(2 if quick else REPEATS)
    if not quick:
        result["installation"] = installed()
    print(json.dumps(result, indent=1))
    print("written to", write(str(folder_for(NAME, quick) / NAME), result))


if __name__ == "__main__":
    main()
