"""Sensitivity and precision of predicted genes, by nucleotide, exon, transcript and gene."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import add, itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import Transcript
from structune.learning.bootstrap import Difference, FloatArray, paired_difference

IntArray = NDArray[np.int64]
Genes = Mapping[str, Iterable[Transcript]] | Iterable[Transcript]
Intervals = list[tuple[int, int]]
Regions = Mapping[str, Iterable[tuple[int, int]]]

GENE_LEVELS = ("nucleotide", "exon", "transcript", "gene")
_MEASURES = ("sensitivity", "precision", "f1")


class GeneAccuracy(NamedTuple):
    """Sensitivity, precision and F1 of the genes of all sequences together, at one level."""

    sensitivity: float
    precision: float
    f1: float


@dataclass(frozen=True)
class GeneScores:
    """Counts of annotated and predicted items of `GENE_LEVELS` on each contig, and accuracies from them.

    A ratio 0/0 counts as 1 if nothing is annotated and nothing predicted, otherwise as 0.

    Attributes
    ----------
    contigs : tuple of str
        Names of the contigs.
    counts : ndarray of int64, shape (n_contigs, 4, 4)
        For each contig and each of `GENE_LEVELS`, four numbers: annotated items, predicted items,
        annotated items that were found, and predicted items that are correct. The last two differ only for
        genes, because two predicted genes may each match a transcript of one annotated gene.
    """

    contigs: tuple[str, ...]
    counts: IntArray

    def pooled(self, level: str) -> GeneAccuracy:
        """Return the accuracy at one of `GENE_LEVELS`, for all sequences together."""
        sums = self.counts[:, _level(level)].sum(axis=0).astype(np.float64)
        return GeneAccuracy(*(float(_statistic(sums, measure)) for measure in _MEASURES))

    @property
    def nucleotide(self) -> GeneAccuracy:
        """Accuracy of coding bases."""
        return self.pooled("nucleotide")

    @property
    def exon(self) -> GeneAccuracy:
        """Accuracy of the coding parts of exons; both ends must be correct."""
        return self.pooled("exon")

    @property
    def transcript(self) -> GeneAccuracy:
        """Accuracy of transcripts; all their exons must be correct."""
        return self.pooled("transcript")

    @property
    def gene(self) -> GeneAccuracy:
        """Accuracy of genes; at least one of their transcripts must be correct."""
        return self.pooled("gene")


def gene_scores(annotated: Genes, predicted: Genes, regions: Regions | None = None) -> GeneScores:
    """Compare predicted with annotated genes (Burset & Guigo 1996; Keibler & Brent 2003).

    Sensitivity is the share of annotated items that are predicted. Precision (called specificity in gene
    finding) is the share of predicted items that are annotated. All levels distinguish the strands and use
    coding parts only. A base is coding if it is coding in any transcript. An exon is correct if both its ends
    are, a transcript if all its exons are, and a gene if one of its transcripts is. Identical exons or
    transcripts count once.

    Parameters
    ----------
    annotated, predicted : mapping of str to transcripts, or iterable of Transcript
        Transcripts, as a mapping by contig or all together. In a mapping, contigs without genes count as
        sequences, too.
    regions : mapping of str to intervals, optional
        Annotated regions of each contig: 0-based, half-open intervals. Contigs without regions are not
        scored. Only bases within the regions count. Exons and transcripts count as a whole if one of their
        coding bases lies within, and genes if one of their transcripts counts.
    """
    both, counts = [counted(of, regions) for of in (annotated, predicted)], dict[str, list[tuple[int, ...]]]()
    for contig in dict.fromkeys([*both[0], *both[1]]):
        within = None if regions is None else _union(regions.get(contig, ()))
        counts[contig] = [(0,) * 4] * len(GENE_LEVELS)
        # counts of both strands add up: a gene is on one strand of one contig
        for strand in "+-":
            a, b = ([t for t in of.get(contig, ()) if t.strand == strand] for of in both)
            n_a, n_b, n_any = (_n_bases(of, within) for of in (a, b, a + b))
            exons = [{e for t in of for e in t.exons if _touches(e, within)} for of in (a, b)]
            whole = [{t.exons for t in of} for of in (a, b)]
            found, right = (
                {t.gene for t in of if t.exons in other} for of, other in ((a, whole[1]), (b, whole[0]))
            )
            rows = [
                (n_a, n_b, n_a + n_b - n_any, n_a + n_b - n_any),
                *((len(x), len(y), len(x & y), len(x & y)) for x, y in (exons, whole)),
                (len({t.gene for t in a}), len({t.gene for t in b}), len(found), len(right)),
            ]
            counts[contig] = [tuple(map(add, *pair)) for pair in zip(counts[contig], rows, strict=True)]
    table = np.array(list(counts.values()), np.int64).reshape(-1, len(GENE_LEVELS), 4)
    return GeneScores(tuple(counts), table)


def gene_difference(
    a: GeneScores, b: GeneScores, level: str, measure: str, n: int = 2000, random_state: int | None = 0
) -> Difference:
    """Compute the difference in pooled accuracy, b minus a, with a 95 % bootstrap interval over sequences.

    Parameters
    ----------
    a, b : GeneScores
        Scores of two predictions against the same annotation.
    level : {"nucleotide", "exon", "transcript", "gene"}
    measure : {"sensitivity", "precision", "f1"}
    n : int
        Number of bootstrap resamples.
    random_state : int, optional
        Random seed of the resamples.

    Raises
    ------
    DataError
        There is no such level or measure, the annotations differ, or there are no sequences.
    """
    if measure not in _MEASURES:
        raise DataError(f"there is no measure {measure!r}. Measures: {', '.join(_MEASURES)}")
    contigs, at, none = dict.fromkeys([*a.contigs, *b.contigs]), _level(level), np.zeros(4, np.int64)
    known = [dict(zip(of.contigs, of.counts[:, at], strict=True)) for of in (a, b)]
    counts_a, counts_b = (np.array([of.get(c, none) for c in contigs]).reshape(-1, 4) for of in known)
    if not np.array_equal(counts_a[:, 0], counts_b[:, 0]):
        raise DataError("a and b must be against the same annotation, but their annotated counts differ")
    return paired_difference(counts_a, counts_b, lambda sums: _statistic(sums, measure), n, random_state)


def stop_codons(genes: Genes) -> dict[str, list[Transcript]]:
    """Replace each transcript by its last three bases, the stop codon.

    At the exon level, the scores of stop codons count the genes that were found, wherever they start. This
    is useful because the start codons of many annotations are uncertain.
    """
    return {
        contig: [
            replace(t, exons=((max(t.end - 3, 0), t.end) if t.strand == "+" else (t.start, t.start + 3),))
            for t in of
        ]
        for contig, of in _by_contig(genes).items()
    }


def counted(genes: Genes, regions: Regions | None = None) -> dict[str, list[Transcript]]:
    """The transcripts that `gene_scores` counts, by contig."""
    if regions is None:
        return _by_contig(genes)
    within = {contig: _union(of) for contig, of in regions.items()}
    return {
        contig: [t for t in of if any(_touches(exon, within.get(contig, [])) for exon in t.exons)]
        for contig, of in _by_contig(genes).items()
    }


def gene_regions(annotated: Genes, margin: int) -> dict[str, Intervals]:
    """Return the spans of annotated genes, by contig, with `margin` bases on either side, as intervals."""
    return {
        contig: _union((max(t.start - margin, 0), t.end + margin) for t in transcripts)
        for contig, transcripts in _by_contig(annotated).items()
    }


def _by_contig(genes: Genes) -> dict[str, list[Transcript]]:
    """Transcripts by contig, as they may be given already."""
    if isinstance(genes, Mapping):
        return {contig: list(of) for contig, of in genes.items()}
    found = defaultdict(list)
    for t in genes:
        found[t.contig].append(t)
    return dict(found)


def _touches(interval: tuple[int, int], within: Intervals | None) -> bool:
    """Whether an interval has a position in some that are apart and ascending; None is everywhere."""
    if within is None:
        return True
    k = bisect_left(within, interval[1], key=itemgetter(0))  # the first that starts behind
    return k > 0 and within[k - 1][1] > interval[0]


def _union(intervals: Iterable[tuple[int, int]]) -> Intervals:
    """The same positions as intervals that are apart, ascending."""
    merged: Intervals = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        elif start < end:
            merged.append((start, end))
    return merged


def _n_bases(transcripts: Iterable[Transcript], within: Intervals | None) -> int:
    """The number of coding bases that count."""
    # |A and W| = |A| + |W| - |A or W|
    coding, inside = [exon for t in transcripts for exon in t.exons], within or []
    n, n_inside, n_any = (sum(b - a for a, b in _union(of)) for of in (coding, inside, coding + inside))
    return n if within is None else n + n_inside - n_any


def _level(level: str) -> int:
    """The place of a level among `GENE_LEVELS`; refuses one that there is not."""
    if level not in GENE_LEVELS:
        raise DataError(f"there is no level {level!r}. Levels: {', '.join(GENE_LEVELS)}")
    return GENE_LEVELS.index(level)


def _statistic(counts: FloatArray, measure: str) -> FloatArray:
    """A measure by counts, of which the last axis has the four of `GeneScores`."""
    # Burset & Guigo 1996: sensitivity TP / (TP + FN), and their specificity TP / (TP + FP), here precision
    annotated, predicted, found, right = np.moveaxis(counts, -1, 0)
    nothing = annotated + predicted == 0
    sensitivity, precision = _ratio(found, annotated, nothing), _ratio(right, predicted, nothing)
    if measure == "f1":
        return _ratio(2 * sensitivity * precision, sensitivity + precision, np.False_)
    return sensitivity if measure == "sensitivity" else precision


def _ratio(above: FloatArray, below: FloatArray, nothing: NDArray[np.bool_] | np.bool_) -> FloatArray:
    """One over the other; where that is 0, 1 if there is `nothing`, otherwise 0."""
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.where(nothing, 1.0, 0.0))
