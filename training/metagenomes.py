"""Trains the model of `MetagenomeFinder.pretrained()`, on thirteen genomes.

    python training/metagenomes.py            about two minutes
    python training/metagenomes.py --quick    on 30,000 bases of each, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).
"""

from __future__ import annotations

from pathlib import Path

from asking import asked_to_be_quick
from prokaryotes import examples

from structune import MetagenomeFinder, TaskTree
from structune.genes import PROKARYOTES

MODEL = Path(__file__).parents[1] / "src/structune/genes/prokaryotes/metagenomes/pretrained.structune"


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    genomes = {name: examples(name, quick)[0] for name in TaskTree.from_nested(PROKARYOTES).leaves}
    sequences = [each for genome in genomes.values() for each in genome]
    organisms = [name for name, genome in genomes.items() for _ in genome]
    model = MetagenomeFinder(verbose=1).fit(sequences, groups=organisms)
    path = Path("metagenomes.structune") if quick else MODEL
    model.save(path)
    print(f"wrote {path}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
