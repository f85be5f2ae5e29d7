"""What finders of genes without introns share: sequences in, genes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import field
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.files.models import Arrays, entries, pack_names, unpack_names
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript
from structune.genes.inputs import annotated_sequences, checked_regions, exon_f1
from structune.genes.nucleotides import Letters, encode_letters
from structune.genes.prokaryotes.structure.candidates import BACTERIAL, EDGE, STARTS, OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import CANDIDATES, OrfShard, clear_of
from structune.learning.estimator import StructuredEstimator
from structune.learning.parameters import parameters
from structune.running.executors import make_executor
from structune.running.memory import batches, held_memory
from structune.structure import FloatArray, IntArray

_GAP = 10  # unknown bases in a row that are one, as for NCBI; their number may not be true
_MOST_BASES, _MOST_SEQUENCES = 1 << 19, 1 << 14  # that are worked off at once, or one sequence
_BASE = 40  # bytes for one
_MOST_AVOIDED = 20  # bases


class Piece(NamedTuple):
    """What lies between two gaps of a sequence, behind and before which genes may go on."""

    sequence: int
    start: int
    letters: Letters


def known_pieces(sequences: Sequence[AnnotatedSequence]) -> Iterator[Piece]:
    """Those of each sequence; none of one that is not known."""
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
    """Finds genes without introns among the open reading frames of sequences.

    Attributes
    ----------
    graph_ : OrfGraph
        The structure.
    skipped_ : list of Skipped
        Training genes that were left out, and why.
    has_introns, needs_tracks, is_of_many : bool
        What other finders have or are: genes with introns, numbers that come with each base, and a finder for
        organisms none of which is known.
    """

    has_introns = needs_tracks = is_of_many = False

    code: int = 11
    closed: bool = False
    skipped_: list[Skipped] = field(init=False)
    graph_: OrfGraph = field(init=False)

    def _graph(self) -> OrfGraph:
        return OrfGraph(OrfRules(self.code))

    @property
    def _structure(self) -> OrfGraph:
        return self.graph_

    def completed(self, shard: OrfShard, letters: Sequence[Letters]) -> OrfShard:
        """Encoded sequences, of which the letters are given, with all that scores depend on."""
        return shard

    def _found(self, shard: OrfShard) -> tuple[NDArray[np.int8], FloatArray | None]:
        """The best genes, and probabilities of candidates being genes."""
        chosen, _ = self.graph_.best(self.coef_, shard)
        scores = self.graph_.marginals(self.coef_, shard).clip(0.0, 1.0) if self.has_probabilities else None
        return chosen, scores

    def predict(
        self, X: Any, avoid: Any = None, unused: dict[str, Counter[str]] | None = None
    ) -> list[tuple[Transcript, ...]]:
        """The most probable genes of each sequence.

        Parameters
        ----------
        X : list of str or AnnotatedSequence
        avoid : list of lists of (int, int), optional
            Start and end of what no gene of each sequence has more than twenty bases of, such as genes of
            RNA, as `read_regions` reads them.
        unused : dict of str to Counter of str, optional
            Gets how many regions to "avoid" have no effect, by the reason. By default there is a warning.

        Returns
        -------
        list of tuples of Transcript
            By start; the score of each is its probability, None with losses other than "log". A gene that
            begins before or ends behind what is known of its sequence has no start or no stop codon, and is
            marked as `partial`.

        Warns
        -----
        UnusedEvidenceWarning
            Some regions lie beyond the end of their sequence.
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
                shard = clear_of(shard, _covered(pieces, regions), _MOST_AVOIDED)
            chosen, scores = self._found(self.completed(shard, letters))
            genes: list[list[Transcript]] = [[] for _ in sequences]
            code = None if self.graph_.rules.code == BACTERIAL else self.graph_.rules.code
            for k, piece in enumerate(pieces):
                of, contig = genes[piece.sequence], sequences[piece.sequence].name
                part = shard.part(k, CANDIDATES)
                own = np.flatnonzero(chosen[part]) + part.start
                for c in own[np.argsort(shard.bounds[own, 0], kind="stable")]:
                    (start, end), strand = shard.bounds[c].tolist(), "-" if shard.reverse[c] else "+"
                    partial, start_type = self.graph_.rules.ends(piece.letters[start:end], strand)
                    exons, name = ((start + piece.start, end + piece.start),), f"{contig}.g{len(of) + 1}"
                    score = None if scores is None else float(scores[c])
                    sites = () if start_type == EDGE else self.graph_.weights.site_notes(shard.signals[c])
                    notes = ("start_type", start_type), *sites
                    of.append(
                        Transcript(contig, strand, exons, f"{name}.t1", name, score, partial, notes, code)
                    )
        return [tuple(of) for of in genes]

    def score(self, X: Any, y: Any = None) -> float:
        """F1 of genes, both ends of which must be right.

        Parameters
        ----------
        X, y
            As in `fit`.
        """
        annotated = annotated_sequences(X, y)
        return exon_f1(annotated, self.predict(annotated))

    @property
    def genetic_code(self) -> tuple[int, tuple[str, ...]]:
        """NCBI's number of the genetic code, and the start codons that genes have: fewer than the code, by
        whose others, such as CTG, only parts of genes begin."""
        return self.code, STARTS

    def with_code(self, code: int) -> Self:
        """The same for another genetic code: its stop codons count.

        Raises
        ------
        DataError
            There is no such code.
        """
        self._check_fitted()
        other = copy(self)
        other.set_params(code=code)
        other.graph_ = other._graph()
        return other

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        return {"genes": {"code": self.graph_.rules.code}}, pack_names("weight", self.graph_.weight_names())

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        names, options = unpack_names("weight", arrays), entries(header["genes"], code=int)
        finder = cls(**options)
        graph = finder._graph()
        if graph.weight_names() != names:
            raise ModelFileError("the weights are those of another gene model")
        finder._unpack_fit(graph.n_weights, header, arrays)
        finder.set_params(**options)
        finder.graph_, finder.skipped_ = graph, []
        return finder


def _covered(pieces: Sequence[Piece], regions: Sequence[IntArray]) -> NDArray[np.bool_]:
    """Whether each base of the pieces, one after the other, lies in a span of its sequence."""
    found = []
    for piece in pieces:
        # spans from the piece on; only those that touch it are marked
        own, spans = np.zeros(piece.letters.size, bool), regions[piece.sequence] - piece.start
        here = spans[(spans[:, 0] < own.size) & (spans[:, 1] > 0)]
        for start, end in np.maximum(here, 0).tolist():
            own[start:end] = True
        found.append(own)
    return np.concatenate(found or [np.zeros(0, bool)])
