"""Which model suits a genome that nobody annotated, and by which genetic code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structune.errors import CapabilityError
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import annotated_sequences
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.orf_finder import OrfFinder, known_pieces
from structune.genes.prokaryotes.structure.candidates import BACTERIAL, WITHOUT_TGA
from structune.structure import FloatArray
from structune.trees.multitask import MultitaskEstimator

ENOUGH = 1_000_000  # bases to tell models apart by
_FEW, _DENSE = 50_000, 0.4  # bases, and the share of them that a model is sure of where genes are dense
_SURER, _RATHER = 1.15, 1.03  # so many times as many bases: by another code, and if TGA is a stop codon


def nearest_node(
    model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence], code: int | None = None
) -> str:
    """The node of a tree of organisms whose model suits a genome best.

    That of the inner nodes which is sure of most: the sum of the lengths of the genes that it finds, times
    their probabilities. The first million bases count, those of long sequences first. Leaves are surer than
    they should be: of an organism that has one, give the name. Near are genomes whose words are alike, as by
    their share of G and C, which need not be the next of kin.

    Parameters
    ----------
    model : MultitaskEstimator
        Of `ProkaryoticGeneFinder`.
    X : list of str or AnnotatedSequence
    code : int, optional
        NCBI's number of the genetic code; by default that of the model.

    Raises
    ------
    CapabilityError
        Not a tree of such models, or one without probabilities.
    DataError
        There is no such code.
    """
    return nearest(model, X, code or _finder(model).graph_.rules.code)[0]


def nearest(
    model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence], code: int | None = None
) -> tuple[str, int]:
    """The node of `nearest_node`, and the genetic code that it is for: by default that of `suited_code`."""
    if not isinstance(model, MultitaskEstimator):
        raise CapabilityError(f"found {type(model).__name__}, expected a MultitaskEstimator")
    sample = _sample(X)
    return _suited(model, sample)[:2] if code is None else (_surest(model, sample, code)[0], code)


def suited_code(model: MultitaskEstimator | OrfFinder, X: Sequence[str | AnnotatedSequence]) -> int:
    """The genetic code that suits a genome: that of the model, or 11, or 4, by which TGA is no stop codon.

    Another than that of the model, if there are 50,000 bases, of which the model, or the surest of a tree, is
    sure of two in five (see `nearest_node`), as of all bacteria and archaea. 4, if these are more than 1.15
    times as many as with 11: genomes of code 11 have fewer with 4, or as many, and those with TGA in place of
    TGG have more, most one and a half times or twice as many. In place of a code of the stops of 4, which are
    also those of 25, 11, if they are 1.03 times as many; in place of codes of other stops, one by which they
    are 1.15 times as many.

    Parameters
    ----------
    model : MetagenomeFinder, ProkaryoticGeneFinder or MultitaskEstimator
        A finder, or a tree of prokaryotic ones.
    X : list of str or AnnotatedSequence

    Raises
    ------
    CapabilityError
        Not such a model, or one without probabilities.
    """
    return _suited(model, _sample(X))[1]


def surer_code(finder: OrfFinder, X: Sequence[str | AnnotatedSequence]) -> tuple[int, float] | None:
    """The code of `suited_code`, if it is not that of the finder, and how many times as many bases the finder
    is sure of by it."""
    _, code, gain = _suited(finder, _sample(X))
    return None if code == finder.graph_.rules.code else (code, gain)


def sure_share(finder: OrfFinder, X: Sequence[str | AnnotatedSequence]) -> float:
    """The share of a genome's bases that a finder is sure of; 0 of less than 50,000."""
    sample = _sample(X)
    n = sum(letters.size for letters in sample)
    return _surest(finder, sample, finder.graph_.rules.code)[1] / n if n >= _FEW else 0.0


def _suited(model: MultitaskEstimator | OrfFinder, sample: Sequence[Letters]) -> tuple[str, int, float]:
    """The surest node for the genetic code that suits, the code, and how many times as sure it is by this."""
    own, n = _finder(model).graph_.rules, sum(letters.size for letters in sample)
    codes = {own.code} | ({BACTERIAL, WITHOUT_TGA} if n >= _FEW else set())
    found = {code: _surest(model, sample, code) for code in codes}
    if n >= _FEW:
        # TGG is tryptophan in both codes. If TGA means it too, genes by code 11 break off at each TGA, and
        # those by code 4 are longer. If TGA is a stop, code 4 finds no more: read through, words behind it
        # are those of no gene. The factors were set on thirteen genomes (docs/decisions/039).
        lacks_tga = found[WITHOUT_TGA][1] > _SURER * found[BACTERIAL][1]
        right = WITHOUT_TGA if lacks_tga else BACTERIAL
        sure, least = found[right][1], _RATHER if own.has_stops(WITHOUT_TGA) else _SURER
        if not own.has_stops(right) and sure > max(least * found[own.code][1], _DENSE * n):
            return found[right][0], right, sure / max(found[own.code][1], 1.0)
    return found[own.code][0], own.code, 1.0


def _surest(model: MultitaskEstimator | OrfFinder, sample: Sequence[Letters], code: int) -> tuple[str, float]:
    """The inner node that is sure of most bases, and of how many; of a finder alone the empty name."""
    finder = _finder(model).with_code(code)
    graph = finder.graph_
    sample = [letters for letters in sample if letters.size >= graph.rules.shortest]
    shard = finder.completed(graph.of_letters(sample, is_open=True), sample)
    # bases that a model is sure of: lengths of the genes of the best set, times their probabilities
    lengths = shard.bounds[:, 1] - shard.bounds[:, 0]

    def sure_of(w: FloatArray) -> float:
        chosen, _ = graph.best(w, shard)
        return float(np.sum(chosen * lengths * graph.marginals(w, shard)))

    if not isinstance(model, MultitaskEstimator):
        return "", sure_of(finder.coef_)
    inner = [node for node in model.nodes_ if node not in model.tree_.leaves] or list(model.nodes_)
    known = {node: sure_of(model.model(node).coef_) for node in inner}
    return max(known.items(), key=lambda item: item[1])


def _finder(model: MultitaskEstimator | OrfFinder) -> OrfFinder:
    """A finder, or that of the root of a tree, which must have probabilities."""
    found: Any = model
    if isinstance(model, MultitaskEstimator):
        model._check_fitted("model_")
        found = model.model_
    elif not isinstance(model, OrfFinder):
        raise CapabilityError(f"found {type(model).__name__}, expected a finder of genes without introns")
    else:
        model._check_fitted()
    if not isinstance(found, OrfFinder) or not found.has_probabilities:
        raise CapabilityError("expected a finder with loss='log', whose genes have probabilities")
    return found


def _sample(X: Sequence[str | AnnotatedSequence]) -> list[Letters]:
    found, n = list[Letters](), 0
    pieces = (piece.letters for piece in known_pieces(annotated_sequences(X, None)))
    for letters in sorted(pieces, key=lambda letters: -letters.size):
        found.append(letters[: ENOUGH - n])
        n += found[-1].size
        if n == ENOUGH:
            break
    return found
