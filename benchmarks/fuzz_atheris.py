"""The readers of benchmarks/fuzz.py, fuzzed by atheris: mutations that reach new code are mutated further.

    pip install atheris
    python benchmarks/fuzz_atheris.py genbank -max_total_time=60
    python benchmarks/fuzz_atheris.py gff3 CORPUS_FOLDER -runs=10000

The first argument is a reader; the others are libFuzzer's. atheris is no dependency, and best has a virtual
environment of its own. Model files are left to benchmarks/fuzz.py: kernels are not compiled where atheris
counts what Python runs.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

with atheris.instrument_imports(include=["structune"]):
    from fuzz_targets import READERS, outcome


def main() -> None:
    name, options = sys.argv[1], sys.argv[2:]
    target = READERS[name]
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        path, seeds = Path(folder) / "input", Path(folder) / "seeds"
        seeds.mkdir()
        for k, data in enumerate(target.seeds()):
            path.write_bytes(data)
            target.use(path)  # what is imported now is not watched
            (seeds / str(k)).write_bytes(data)

        def mutated(data: bytes, most: int, seed: int) -> bytes:
            found: bytes = target.mutate(data, random.Random(seed))
            return found[:most]

        def use(data: bytes) -> None:
            outcome(target, data, path)

        atheris.Setup([sys.argv[0], "-max_len=1000000", *options, str(seeds)], use, custom_mutator=mutated)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
