"""Genes of contigs of many organisms: a model for each contig, by its share of G and C."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from structune.errors import CapabilityError
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.prokaryotes.adaptation import root_of
from structune.genes.prokaryotes.prokaryotic_gene_finder import GC, ProkaryoticGeneFinder, gc_content
from structune.structure import FloatArray, IntArray
from structune.trees.multitask import MultitaskEstimator

_NEAR = 0.07  # shares of G and C that are so far from each other count as 0.6
_DIGITS = 2  # of a contig's share: those that are alike have one model


class MetagenomeFinder(ProkaryoticGeneFinder):
    """Finds the genes of each contig by a model for its share of G and C.

    That is the mean of the models of a tree's leaves, which count by how near their shares of G and C are:
    words of genes follow it. Nothing is learned: `of` makes it of a tree.
    """

    models_: FloatArray  # (n_leaves, n_weights)
    gc_: FloatArray  # (n_leaves,)

    @classmethod
    def of(cls, tree: MultitaskEstimator) -> Self:
        """That of a tree of `ProkaryoticGeneFinder`, such as the pretrained one.

        Raises
        ------
        CapabilityError
            Not a tree of such models, or one without probabilities, or that does not know shares of G and C.
        """
        root = root_of(tree)
        shares = {name: about[GC] for name, about in tree.nodes_.items() if GC in about}
        if not shares or not all(isinstance(gc, float) and 0 <= gc <= 1 for gc in shares.values()):
            raise CapabilityError(
                f"found a tree without the {GC} of its leaves, expected one of this release"
            )
        found = cls()
        vars(found).update(vars(root), starts_=None)
        found.models_ = np.array([tree.weights_[name] for name in shares])
        found.gc_ = np.array(list(shares.values()))
        return found

    def _genes(self, block: list[tuple[AnnotatedSequence, IntArray]]) -> list[tuple[Transcript, ...]]:
        groups: dict[float, list[int]] = defaultdict(list)
        for k, (each, _) in enumerate(block):
            groups[round(gc_content([each]), _DIGITS)].append(k)
        found: list[tuple[Transcript, ...]] = [()] * len(block)
        for gc, places in groups.items():
            genes = self.model(gc)._genes([block[k] for k in places])
            for k, of in zip(places, genes, strict=True):
                found[k] = of
        return found

    def model(self, gc: float) -> ProkaryoticGeneFinder:
        """That for a share of G and C."""
        self._check_fitted("gc_")
        shares = np.exp(-0.5 * ((self.gc_ - gc) / _NEAR) ** 2)
        found = ProkaryoticGeneFinder()
        vars(found).update(vars(self), coef_=shares @ self.models_ / shares.sum())
        return found

    def _learn(self, *_: Any, **__: Any) -> Any:
        raise CapabilityError("a finder for metagenomes learns nothing: it is made of a tree")

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Refuses: what can be saved is the tree."""
        raise CapabilityError("a finder for metagenomes has no file of its own: save the tree that it is of")
