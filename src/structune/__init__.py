"""Structured predictors that tune themselves.

Public names load when first used, so that ``import structune`` stays fast.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Classifier": "structune.flat.classifier",
    "GeneFinder": "structune.genes.eukaryotes.gene_finder",
    "ProkaryoticGeneFinder": "structune.genes.prokaryotes.prokaryotic_gene_finder",
    "MultitaskEstimator": "structune.trees.multitask",
    "Protein": "structune.alignment.structure.proteins",
    "RNAFolder": "structune.rna.folder",
    "Ranker": "structune.ranking.ranker",
    "Regressor": "structune.flat.regressor",
    "SequenceAligner": "structune.alignment.aligner",
    "SequenceTagger": "structune.tagging.tagger",
    "TaskTree": "structune.trees.task_tree",
    "adapt": "structune.genes.prokaryotes.adaptation",
    "load": "structune.files.models",
    "nearest_node": "structune.genes.prokaryotes.adaptation",
    "open_shards": "structune.files.shards",
    "write_shards": "structune.files.shards",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'structune' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
