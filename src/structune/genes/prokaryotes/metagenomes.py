"""Genes of contigs of many organisms: a model for each contig."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import CapabilityError
from structune.genes.prokaryotes.adaptation import finder_of
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.genes.prokaryotes.structure.shard import CANDIDATES, OrfShard
from structune.structure import FloatArray
from structune.trees.multitask import MultitaskEstimator


class MetagenomeFinder(ProkaryoticGeneFinder):
    """Finds the genes of each contig by the mean of the models of a tree, by their probabilities there.

    How probable a model is tells the sum over all sets of genes: long contigs have one model, short ones
    several. Nothing is learned: `of` makes it of a tree.
    """

    models_: FloatArray  # (n_nodes, n_weights)

    @classmethod
    def of(cls, tree: MultitaskEstimator) -> Self:
        """That of a tree of `ProkaryoticGeneFinder`, such as the pretrained one.

        Raises
        ------
        CapabilityError
            Not a tree of such models, or one without probabilities.
        """
        if not isinstance(tree, MultitaskEstimator):
            raise CapabilityError(f"found {type(tree).__name__}, expected a MultitaskEstimator")
        root = finder_of(tree)
        found = cls(**root.get_params())
        vars(found).update(vars(root))
        found.starts_, found.models_ = None, np.array(list(tree.weights_.values()))
        return found

    def _found(self, shard: OrfShard) -> tuple[NDArray[np.int8], FloatArray]:
        """The best genes, and probabilities of candidates being genes."""
        graph = self.graph_
        sums = np.array([graph.log_partition(w, shard) for w in self.models_])
        shares = np.exp(sums - sums.max(axis=0))
        shares /= shares.sum(axis=0)
        chosen, scores = np.empty(len(shard.bounds), np.int8), np.empty(len(shard.bounds))
        for s, share in enumerate(shares.T):
            part, alone, w = shard.part(s, CANDIDATES), shard.take([s]), share @ self.models_
            chosen[part], _ = graph.best(w, alone)
            scores[part] = graph.marginals(w, alone)
        return chosen, scores.clip(0.0, 1.0)

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Refuses: what can be saved is the tree."""
        raise CapabilityError("a finder for metagenomes has no file of its own: save the tree that it is of")
