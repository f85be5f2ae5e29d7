"""Base class of the finders of genes without introns, and the choice of a model for a genome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from itertools import accumulate, chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import CapabilityError, ModelFileError
from structune.files.models import Arrays, entries, pack_names, unpack_names
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript
from structune.genes.inputs import annotated_sequences, checked_regions, exon_f1
from structune.genes.nucleotides import Letters, encode_letters
from structune.genes.prokaryotes.structure import candidates
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.learning.estimator import StructuredEstimator
from structune.learning.parameters import parameters
from structune.running.executors import make_executor
from structune.running.memory import batches, held_memory
from structune.structure import FloatArray, IntArray
from structune.trees.multitask import MultitaskEstimator

_GAP = 10  # unknown bases in a row that are one, as for NCBI; their number may not be true
_MOST_BASES, _MOST_SEQUENCES = 1 << 19, 1 << 14  # that are worked off at once, or one sequence
_BASE = 40  # bytes for one
_MOST_AVOIDED = 20  # bases
ENOUGH = 1_000_000  # bases to tell models apart by
_FEW, _DENSE = 50_000, 0.4  # bases, and the share of them that a model is sure of where genes are dense
_SURER, _RATHER = 1.15, 1.03  # so many times as many bases: by another code, and if TGA is a stop codon


class Piece(NamedTuple):
    """What lies between two gaps of a sequence, behind and before which genes may go on."""

    sequence: int
    start: int
    letters: Letters


def known_pieces(sequences: Sequence[AnnotatedSequence]) -> Iterator[Piece]:
    """The parts of each sequence between long gaps of unknown bases."""
    for s, each in enumerate(sequences):
        letters = encode_letters(each.sequence, each.name)
        # pairs of ends: where runs of unknown letters begin and end
        gaps = np.flatnonzero(np.diff(np.concatenate(([False], letters > 3, [False])))).reshape(-1, 2)
        gaps = gaps[gaps[:, 1] - gaps[:, 0] >= _GAP]
        for start, end in zip([0, *gaps[:, 1].tolist()], [*gaps[:, 0].tolist(), letters.size], strict=True):
            if start < end:
                yield Piece(s, start, letters[start:end])


@parameters
class OrfFinder(StructuredEstimator):
    """Base class of finders of genes without introns.

    Parameters
    ----------
    code : int
        NCBI number of the genetic code: 11, or 4 for Mycoplasma and its relatives.
    closed : bool
        Whether to predict only genes within their sequence. If False, genes may continue beyond its ends.

    Attributes
    ----------
    has_introns, needs_tracks, is_of_many : bool
        Whether genes have introns, whether `predict` needs tracks, and whether the model is for metagenomes.
    """

    has_introns = needs_tracks = is_of_many = False

    code: int = 11
    closed: bool = False
    skipped_: list[Skipped] = field(init=False)
    graph_: OrfGraph = field(init=False)
    _times_for_costs: ClassVar[float] = 1.0  # for the losses that are not smooth

    def _graph(self) -> OrfGraph:
        return OrfGraph(candidates.OrfRules(self.code))

    @property
    def _structure(self) -> OrfGraph:
        return self.graph_

    def _usual_penalties(self, centered: bool) -> Mapping[str, float]:
        factor = 1.0 if self._make_loss().smooth else self._times_for_costs
        return {name: factor * precision for name, precision in self._usual_penalty.items()}

    def completed(self, shard: candidates.OrfShard, letters: Sequence[Letters]) -> candidates.OrfShard:
        """Return the shard with all that scores depend on; `letters` are the letters of its sequences."""
        return shard

    def _found(self, shard: candidates.OrfShard) -> tuple[NDArray[np.int8], FloatArray | None]:
        """The best genes, and probabilities of candidates being genes."""
        chosen, _ = self.graph_.best(self.coef_, shard)
        scores = self.graph_.marginals(self.coef_, shard).clip(0.0, 1.0) if self.has_probabilities else None
        return chosen, scores

    def predict(
        self, X: Any, avoid: Any = None, unused: dict[str, Counter[str]] | None = None
    ) -> list[tuple[Transcript, ...]]:
        """Predict the most probable set of genes of each sequence.

        Parameters
        ----------
        X : list of str or AnnotatedSequence
            Sequences. Annotated genes on them are ignored.
        avoid : list of lists of (int, int), optional
            Regions of each sequence, such as RNA genes: start and end of each region, 0-based and half-open.
            `read_regions` returns them by contig. No predicted gene has more than twenty bases in them.
        unused : dict of str to Counter of str, optional
            Dict to fill instead of a warning. For the key "avoid", it gets a Counter with the numbers of
            regions that have no effect, by reason.

        Returns
        -------
        list of tuples of Transcript
            Genes of each sequence, sorted by start. The score is the probability of the gene; None with
            losses other than "log". A gene that continues beyond an end of its sequence or into a gap lacks
            a start or a stop codon, and is marked as `partial`.

        Warns
        -----
        UnusedEvidenceWarning
            Some regions lie or reach beyond the end of their sequence.
        """
        self._check_fitted()
        sequences = annotated_sequences(X, None)
        regions = checked_regions(avoid, sequences, unused)
        given = zip(sequences, regions, strict=True)
        blocks = batches(given, lambda each: len(each[0].sequence), _MOST_BASES, _MOST_SEQUENCES)
        return list(chain.from_iterable(make_executor(self.n_jobs).map(self._genes, blocks)))

    def _genes(self, block: list[tuple[AnnotatedSequence, IntArray]]) -> list[tuple[Transcript, ...]]:
        """Those of sequences that are worked off at once; refused where they do not fit in memory."""
        sequences, regions = [each for each, _ in block], [spans for _, spans in block]
        n_bases = sum(len(each.sequence) for each in sequences)
        first, others = sequences[0].name, len(block) - 1
        what = f"{first} and {others} more" if others else first
        with held_memory(_BASE * float(n_bases), f"{what}: {n_bases:,} bases", "shorter sequences"):
            shortest = self.graph_.rules.shortest  # there are files of many pieces that are shorter
            pieces = [piece for piece in known_pieces(sequences) if piece.letters.size >= shortest]
            letters = [piece.letters for piece in pieces]
            shard = self.graph_.of_letters(letters, is_open=not self.closed)
            if any(spans.size for spans in regions):
                marked = [np.zeros(len(each.sequence), bool) for each in sequences]
                for own, spans in zip(marked, regions, strict=True):
                    for start, end in spans.tolist():
                        own[start:end] = True
                avoided = [marked[piece.sequence][piece.start :][: piece.letters.size] for piece in pieces]
                shard = candidates.clear_of(
                    shard, np.concatenate([*avoided, np.zeros(0, bool)]), _MOST_AVOIDED
                )
            chosen, scores = self._found(self.completed(shard, letters))
            genes: list[list[Transcript]] = [[] for _ in sequences]
            code = None if self.graph_.rules.code == candidates.BACTERIAL else self.graph_.rules.code
            for k, piece in enumerate(pieces):
                of, contig = genes[piece.sequence], sequences[piece.sequence].name
                part = shard.part(k, candidates.CANDIDATES)
                found = np.flatnonzero(chosen[part]) + part.start
                for c in found[np.argsort(shard.bounds[found, 0], kind="stable")]:
                    (start, end), strand = shard.bounds[c].tolist(), "-" if shard.reverse[c] else "+"
                    partial, start_type = self.graph_.rules.ends(piece.letters[start:end], strand)
                    exons, name = ((start + piece.start, end + piece.start),), f"{contig}.g{len(of) + 1}"
                    score = None if scores is None else float(scores[c])
                    sites = () if start_type == candidates.EDGE else candidates.site_notes(shard.signals[c])
                    notes = ("start_type", start_type), *sites
                    of.append(
                        Transcript(contig, strand, exons, f"{name}.t1", name, score, partial, notes, code)
                    )
        return [tuple(of) for of in genes]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the F1 of predicted genes, from 0 to 1; a gene is correct if both its ends are.

        Predicted genes that are marked as partial do not count. X and y are as in `fit`.
        """
        annotated = annotated_sequences(X, y)
        return exon_f1(annotated, self.predict(annotated))

    @property
    def genetic_code(self) -> tuple[int, tuple[str, ...]]:
        """NCBI number of the genetic code, and the start codons of proteins: ATG, GTG and TTG."""
        return self.code, candidates.STARTS

    def with_code(self, code: int) -> Self:
        """Return the model for another genetic code, given by its NCBI number; the stop codons change."""
        self._check_fitted()
        other = copy(self)
        other.set_params(code=code)
        other.graph_ = other._graph()
        return other

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        return {"genes": {"code": self.graph_.rules.code}}, pack_names("weight", self.graph_.weight_names())

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        names, options = unpack_names("weight", arrays), entries(header["genes"], code=int)
        finder = cls(**options)
        graph = finder._graph()
        if graph.weight_names() != names:
            raise ModelFileError("the weights do not belong to this gene model: the file is damaged")
        finder._unpack_fit(graph.n_weights, header, arrays)
        finder.set_params(**options)
        finder.graph_, finder.skipped_ = graph, []
        return finder


# --- which model suits a genome that nobody annotated, and by which genetic code --------------------------


def nearest_node(
    model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence], code: int | None = None
) -> str:
    """Return the name of the inner node of a tree of organisms whose model suits a genome best.

    The best node has the highest expected number of bases in genes: the sum of gene lengths times gene
    probabilities. It is computed on at most a million bases, from the longest sequences. Leaves are not
    considered, because they are overconfident; if the organism is a leaf, give its name. The nearest node has
    similar codons and hexamers, and need not be the closest relative.

    Parameters
    ----------
    model : MultitaskEstimator
        Tree of `ProkaryoticGeneFinder` models.
    X : list of str or AnnotatedSequence
        The genome.
    code : int, optional
        NCBI number of the genetic code; by default that of the model.

    Raises
    ------
    CapabilityError
        The model is not such a tree, or has no probabilities.
    DataError
        There is no such genetic code.
    """
    return nearest(model, X, code or _finder(model).graph_.rules.code)[0]


def nearest(
    model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence], code: int | None = None
) -> tuple[str, int]:
    """The node of `nearest_node`, and the genetic code that it is for: by default that of `suited_code`."""
    if not isinstance(model, MultitaskEstimator):
        raise CapabilityError(f"the model must be a MultitaskEstimator, not a {type(model).__name__}")
    return _suited(model, _sample(X))[:2] if code is None else (_surest(model, _sample(X), code)[0], code)


def suited_code(model: MultitaskEstimator | OrfFinder, X: Sequence[str | AnnotatedSequence]) -> int:
    """Return the genetic code that suits a genome: the code of the model, 11, or 4 (TGA is not a stop codon).

    Codes are compared by n(code), the expected number of bases in genes with that code (see `nearest_node`;
    for a tree, n of its best node). Code 4 is preferred to 11 if n(4) is more than 1.15 times n(11). The
    preferred code replaces the code of the model if their stop codons differ, there are at least 50,000
    bases, n(preferred) is more than 40 % of the bases, and n(preferred) is more than 1.15 times n(code of
    the model), or 1.03 times if the model's code has the same stop codons as 4.

    Parameters
    ----------
    model : MetagenomeFinder, ProkaryoticGeneFinder or MultitaskEstimator
        A finder, or a tree of prokaryotic finders.
    X : list of str or AnnotatedSequence
        The genome.

    Raises
    ------
    CapabilityError
        The model is not one of these, or has no probabilities.
    """
    return _suited(model, _sample(X))[1]


def surer_code(finder: OrfFinder, X: Sequence[str | AnnotatedSequence]) -> tuple[int, float] | None:
    """The code of `suited_code` if it differs from the model's, and the factor of bases that it gains."""
    _, code, gain = _suited(finder, _sample(X))
    return None if code == finder.graph_.rules.code else (code, gain)


def sure_share(finder: OrfFinder, X: Sequence[str | AnnotatedSequence], least: int = _FEW) -> float:
    """The expected share of a genome's bases in genes; 0 if there are less than `least` bases."""
    sample = _sample(X)
    n = sum(map(len, sample))
    return _surest(finder, sample, finder.graph_.rules.code)[1] / n if n >= least else 0.0


def _suited(model: MultitaskEstimator | OrfFinder, sample: Sequence[Letters]) -> tuple[str, int, float]:
    """The surest node for the genetic code that suits, the code, and how many times as sure it is by this."""
    own, n = _finder(model).graph_.rules, sum(map(len, sample))
    codes = {own.code} | ({candidates.BACTERIAL, candidates.WITHOUT_TGA} if n >= _FEW else set())
    found = {code: _surest(model, sample, code) for code in codes}
    if n >= _FEW:
        # TGG is tryptophan in both codes. If TGA means it too, genes by code 11 break off at each TGA, and
        # those by code 4 are longer. If TGA is a stop, code 4 finds no more: read through, words behind it
        # are those of no gene. The factors were set on thirteen genomes (docs/decisions/039).
        lacks_tga = found[candidates.WITHOUT_TGA][1] > _SURER * found[candidates.BACTERIAL][1]
        right = candidates.WITHOUT_TGA if lacks_tga else candidates.BACTERIAL
        sure, least = found[right][1], _RATHER if own.has_stops(candidates.WITHOUT_TGA) else _SURER
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
        raise CapabilityError(f"the model must be a prokaryotic gene finder, not a {type(model).__name__}")
    else:
        model._check_fitted()
    if not isinstance(found, OrfFinder) or not found.has_probabilities:
        told = "choosing a node or a genetic code needs a model with loss='log', which gives probabilities"
        raise CapabilityError(told)
    return found


def _sample(X: Sequence[str | AnnotatedSequence]) -> list[Letters]:
    """The known pieces, the longest first, up to as many bases as tell models apart."""
    pieces = (piece.letters for piece in known_pieces(annotated_sequences(X, None)))
    longest = sorted(pieces, key=lambda letters: -letters.size)
    before = accumulate(map(len, longest), initial=0)
    return [letters[: ENOUGH - n] for letters, n in zip(longest, before, strict=False) if n < ENOUGH]
