"""A few examples of every kind of which files can hold shards."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import simulated_genes
import simulated_orfs
from structune import (
    GeneFinder,
    ProkaryoticGeneFinder,
    Protein,
    RNAFolder,
    SequenceAligner,
    SequenceTagger,
)
from structune.files.shards import open_shards, write_shard, write_shards
from structune.genes.examples import SkippedGenesWarning

_WORDS = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]], [["w=the"], ["w=new"], ["w=cat"]]] * 2
_TAGS = [["DET", "NOUN"], ["DET", "NOUN"], ["DET", None, "NOUN"]] * 2
_RNAS = ["GGGAAAACCC", "GGCGAAAGCCA", "AAANAAAA", "GGGAAAUCCC", "GGAGCGAAAGCAGCGAAAGCACC", ""]
_FOLDS = ["(((....)))", "(((....))).", "........", "(((....)))", "((.((....)).((....)).))", ""]
_PAIRS = [("ACDEFGHIK", "ACDFGHIK"), ("MKV", "MKLV"), ("ACDEFGHIK", "GHIK"), ("WYV", "WV"), ("ACD", "ACD")]
_ROWS = [
    ("ACDEFGHIK", "ACD-FGHIK"),
    ("MK-V", "MKLV"),
    ("ACDEFGHIK", "-----GHIK"),
    ("WYV", "W-V"),
    ("aCD", "ACD"),
]


@dataclass(frozen=True)
class Example:
    """An estimator, and examples as its `fit` takes them; `loss` is one that decodes."""

    estimator: Any
    data: tuple[Any, ...]
    loss: str

    def write(self, folder, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedGenesWarning)
            return write_shards(self.estimator, folder, *self.data, **options)


def _marked(residues):
    return Protein(residues, np.arange(2.0 * len(residues)).reshape(-1, 2) / 10, "H" * len(residues))


_MARKED = [tuple(_marked(each) for each in pair) for pair in _PAIRS]
_OF_ONE = {"n_jobs": 1}
EXAMPLES = {
    "tagging": Example(SequenceTagger(**_OF_ONE), (_WORDS, _TAGS), "log"),
    "rna": Example(RNAFolder(**_OF_ONE), (_RNAS, _FOLDS), "margin"),
    "genes": Example(GeneFinder(**_OF_ONE, flank=30), (simulated_genes.genome(0, 2),), "margin"),
    "prokaryotic-genes": Example(
        ProkaryoticGeneFinder(**_OF_ONE), (simulated_orfs.genome(0, 2, n_genes=12),), "margin"
    ),
    "alignment": Example(SequenceAligner(**_OF_ONE, overhangs="one", band=6), (_MARKED, _ROWS), "equivalent"),
}


def rewrite(folder, change):
    """Change the first shard, and list it as it is now."""
    shard = open_shards(folder).shards[0]
    header = json.loads((folder / "shards.json").read_text())
    (folder / "shard-00000.bin").unlink()
    header["shards"][0]["layout"] = write_shard(folder / "shard-00000.bin", change(shard))
    (folder / "shards.json").write_text(json.dumps(header))


def with_array(part, path, change):
    """A shard with another array, or with what a function makes of the old one."""
    name, _, rest = path.partition(".")
    old = getattr(part, name)
    if rest:
        return replace(part, **{name: with_array(old, rest, change)})
    return replace(part, **{name: np.asarray(change(old) if callable(change) else change)})
