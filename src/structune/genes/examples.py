"""Training examples of a gene finder: annotated sequences cut between their genes."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from structune.errors import DataError
from structune.files.text import plural
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import (
    AnnotatedSequence,
    Skipped,
    Transcript,
    by_gene,
    by_position,
    coding_problems,
    skipped_text,
)
from structune.structure import IntArray

_CODON = 3


class SkippedGenesWarning(UserWarning):
    """Warns that some training genes cannot be used, and were skipped."""


@dataclass
class Examples:
    """Parts of annotated sequences, and the genes that were skipped, with the reasons."""

    sequences: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def report(self) -> None:
        """Warn of skipped genes; raise `DataError` if there is no example."""
        report(len(self.sequences), self.skipped, stacklevel=4)


def report(n_examples: int, skipped: Sequence[Skipped], stacklevel: int = 3) -> None:
    """Warn of skipped genes; raise `DataError` if there is no example."""
    if not n_examples:
        reason = f"; skipped {skipped_text(skipped)}" if skipped else ""
        raise DataError(f"there are no genes to train on{reason}")
    if skipped:
        text = f"training skipped {plural(len(skipped), 'gene')}: {skipped_text(skipped)}"
        warnings.warn(text, SkippedGenesWarning, stacklevel=stacklevel)


@dataclass
class GeneExamples(Examples):
    """One gene each, with a part of what is around it; `spans` are which of the annotated sequences each is
    from, and its start and end there."""

    transcripts: list[Transcript] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def introns(self) -> list[int]:
        """Their lengths."""
        return [b - a for t in self.transcripts for a, b in t.introns]


def cut_examples(
    annotated: Iterable[AnnotatedSequence], flank: int, strands: Collection[str], donors: Collection[str]
) -> GeneExamples:
    """Cut an example for each gene: the gene and up to `flank` bases on either side, at most half of the way
    to the next gene.

    Of several transcripts the longest one that fits the model is taken. Genes without one are skipped, as are
    those that overlap or touch others or lie on other strands. Genes that a reader skipped limit flanks, too.
    """
    found = GeneExamples()
    for s, sequence in enumerate(annotated):
        found.skipped += sequence.skipped
        genes = list(by_gene(by_position(sequence.transcripts)).values())
        bases = without_u(sequence.sequence)
        spans = [(gene[0].start, max(t.end for t in gene)) for gene in genes]
        unread = [one.span for one in sequence.skipped if one.span is not None]
        own, known = (np.array(some, np.int64).reshape(-1, 2) for some in (spans, spans + unread))
        # genes come by start: one touches another if the furthest end before it reaches it, or the next
        # begins before it ends
        close = np.zeros(len(own), bool)  # whether no base lies between a gene and another one
        close[1:] = np.maximum.accumulate(own[:, 1])[:-1] >= own[1:, 0]
        close[:-1] |= own[:-1, 1] >= own[1:, 0]
        cuts = _cuts(own, known, flank, len(bases))
        for gene, span, is_close, (start, end) in zip(genes, spans, close, cuts, strict=True):
            chosen, problem = _chosen(gene, bases, strands, donors)
            reason = "overlaps or touches another gene" if is_close else problem
            if reason or chosen is None:
                found.skipped.append(Skipped(sequence.name, gene[0].gene, reason, span))
            else:
                exons = tuple((a - start, b - start) for a, b in chosen.exons)
                found.sequences.append(bases[start:end])
                found.transcripts.append(replace(chosen, exons=exons))
                found.spans.append((s, start, end))
    return found


def _chosen(
    gene: list[Transcript], sequence: str, strands: Collection[str], donors: Collection[str]
) -> tuple[Transcript | None, str]:
    """The transcript to train on, or the problem of the longest one."""
    # the longest one that makes sense; if none does, what is wrong with the longest of all is told
    problem = ""
    for t in sorted(gene, key=lambda t: -t.length):
        problems = [str(p) for p in coding_problems(t, sequence, donors=donors)]
        if any(b - a < _CODON for a, b in t.exons[1:-1]):
            problems.append("an exon of less than three bases between introns")
        if any(t.partial):
            problems.append("incomplete")
        if t.strand not in strands:
            problems.append(f"on the {t.strand} strand")
        if not problems:
            return t, ""
        problem = problem or problems[0]
    return None, problem


def _cuts(spans: IntArray, known: IntArray, flank: int, n: int) -> list[list[int]]:
    """Where the example of each span begins and ends; `known` are all that flanks keep away from."""
    # `before` is the furthest end of what begins no later, `after` the nearest start of what ends no earlier:
    # a flank goes at most half of the way there, so that no two examples share a base
    flank = min(flank, n)
    start, end = spans.T
    by_start, by_end = (known[np.argsort(known[:, k])] for k in (0, 1))
    ends = np.maximum.accumulate(np.append(-2 * flank, by_start[:, 1]))  # of those that begin before
    starts = np.minimum.accumulate(np.append(n + 2 * flank, by_end[::-1, 0]))[::-1]  # that end after
    before = np.minimum(ends[np.searchsorted(by_start[:, 0], start)], start)
    after = np.maximum(starts[np.searchsorted(by_end[:, 1], end, "right")], end)
    low = np.maximum(start - flank, (before + start + 1) // 2)
    high = np.minimum(end + flank, (end + after) // 2)
    found: list[list[int]] = np.stack((low, high), 1).clip(0, n).tolist()
    return found
