"""A few examples of every kind of which files can hold shards."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, is_dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
import scipy

import simulated_genes
import simulated_orfs
from structune import (
    Classifier,
    GeneFinder,
    ProkaryoticGeneFinder,
    Protein,
    Ranker,
    Regressor,
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
_TABLE = np.random.default_rng(0).normal((2.0, 0.0, 0.0), size=(48, 3)).round(1)
_NOISE = np.random.default_rng(1).normal(size=48)
_CLASSES = np.digitize(_TABLE[:, 0] + _NOISE, [1.0, 3.0])
_QUERIES = np.repeat(np.arange(8), 6)


@dataclass(frozen=True)
class Example:
    """An estimator, and examples as its `fit` takes them; `losses` are its own, the last one decodes."""

    estimator: Any
    data: tuple[Any, ...]
    losses: tuple[str, ...]

    def with_losses(self):
        """The options by which the estimator is made to learn by each."""
        return [{"loss": loss} for loss in self.losses] or [{}]

    def write(self, folder, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedGenesWarning)
            named = dict(zip(signature(self.estimator.fit).parameters, self.data, strict=False))
            return write_shards(self.estimator, folder, **named, **options)


def _marked(residues):
    return Protein(residues, np.arange(2.0 * len(residues)).reshape(-1, 2) / 10, "H" * len(residues))


_MARKED = [tuple(_marked(each) for each in pair) for pair in _PAIRS]
_OF_ONE = {"n_jobs": 1, "tuning": None}
_OF_TABLES = {**_OF_ONE, "cv": 0.2}
EXAMPLES = {
    "tagging": Example(SequenceTagger(**_OF_ONE), (_WORDS, _TAGS), ("log",)),
    "rna": Example(RNAFolder(**_OF_ONE), (_RNAS, _FOLDS), ("log", "margin")),
    "genes": Example(GeneFinder(**_OF_ONE, flank=30), (simulated_genes.genome(0, 2),), ("log", "margin")),
    "prokaryotic-genes": Example(
        ProkaryoticGeneFinder(**_OF_ONE), (simulated_orfs.genome(0, 2, n_genes=12),), ("log", "margin")
    ),
    "alignment": Example(
        SequenceAligner(**_OF_ONE, overhangs="one", band=6), (_MARKED, _ROWS), ("log", "equivalent")
    ),
    "classifier": Example(
        Classifier(**_OF_TABLES), (scipy.sparse.csr_array(_TABLE), _CLASSES), ("log", "ramp", "margin")
    ),
    "regressor": Example(Regressor(**_OF_TABLES), (_TABLE, _TABLE[:, 0] + _NOISE), ()),
    "ranking": Example(Ranker(**_OF_TABLES), (_TABLE, _CLASSES, _QUERIES), ("ramp", "equivalent", "margin")),
}


def rewrite(folder, change):
    """Replace the first shard, or change it by a function, and list it as it is now."""
    shard = change(open_shards(folder).shards[0]) if callable(change) else change
    header = json.loads((folder / "shards.json").read_text())
    (folder / "shard-00000.bin").unlink()
    header["shards"][0]["layout"] = write_shard(folder / "shard-00000.bin", shard)
    (folder / "shards.json").write_text(json.dumps(header))


def with_array(part, path, change):
    """A shard with another array, or with what a function makes of the old one."""
    name, _, rest = path.partition(".")
    old = getattr(part, name)
    if rest:
        return replace(part, **{name: with_array(old, rest, change)})
    new = np.asarray(change(old) if callable(change) else change)
    if is_dataclass(part):
        return replace(part, **{name: new})
    part = part.copy()  # a sparse matrix
    setattr(part, name, new)
    return part
