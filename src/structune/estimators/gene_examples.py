"""Training examples of a gene finder: annotated sequences cut between their genes."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from structune.errors import DataError
from structune.formats import skipped_text
from structune.formats.gene_checks import coding_problems
from structune.formats.gene_record import AnnotatedSequence, Skipped, Transcript, by_position
from structune.structures.base import FloatArray

_CODON = 3


class SkippedGenesWarning(UserWarning):
    """Some training genes are such that the model cannot learn from them."""


@dataclass
class GeneExamples:
    """One gene each, with a part of what is around it.

    Attributes
    ----------
    sequences : list of str
    transcripts : list of Transcript
        At their places in `sequences`.
    spans : list of (int, int, int)
        Which of the annotated sequences each is from, and its start and end there.
    skipped : list of Skipped
        Genes that were left out, and why.
    """

    sequences: list[str] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def report(self) -> None:
        """Warn of what was left out; raise `DataError` if nothing is left."""
        if not self.sequences:
            reason = f": {skipped_text(self.skipped)}" if self.skipped else ""
            raise DataError(f"found no gene to learn from{reason}")
        if self.skipped:
            text = f"skipped {len(self.skipped)} genes: {skipped_text(self.skipped)}"
            warnings.warn(text, SkippedGenesWarning, stacklevel=3)

    def parts(self, tracks: Sequence[FloatArray]) -> list[FloatArray]:
        """What belongs to each example of an array for each annotated sequence."""
        return [tracks[s][a:b] for s, a, b in self.spans]


def cut_examples(
    annotated: Iterable[AnnotatedSequence], flank: int, strands: Collection[str], donors: Collection[str]
) -> GeneExamples:
    """An example for each gene: the gene, and up to `flank` bases, at most half of the way to the next one.

    Of several transcripts of a gene the longest is taken of those that make sense to the model. Left out are
    genes without one, those that overlap or touch others, and those of strands that the model does not have.
    """
    found = GeneExamples()
    for s, sequence in enumerate(annotated):
        found.skipped += sequence.skipped
        genes = list(_genes(sequence.transcripts))
        spans = np.array([(min(t.start for t in g), max(t.end for t in g)) for g in genes]).reshape(-1, 2)
        for k, gene in enumerate(genes):
            reason = "overlaps or touches another gene" if _is_close(spans, k) else ""
            chosen, problem = _chosen(gene, sequence.sequence, strands, donors)
            if reason or chosen is None:
                found.skipped.append(Skipped(sequence.name, gene[0].gene, reason or problem))
            else:
                start, end = _around(spans, k, flank, len(sequence.sequence))
                found.sequences.append(sequence.sequence[start:end])
                found.transcripts.append(_moved(chosen, start))
                found.spans.append((s, start, end))
    return found


def _genes(transcripts: Iterable[Transcript]) -> list[list[Transcript]]:
    """The transcripts of each gene, by start."""
    by_gene: dict[str, list[Transcript]] = {}
    for t in by_position(transcripts):
        by_gene.setdefault(t.gene, []).append(t)
    return list(by_gene.values())


def _is_close(spans: np.ndarray, k: int) -> bool:
    """Whether no base lies between a gene and another one."""
    start, end = spans[k]
    others = np.delete(spans, k, axis=0)
    return bool(((others[:, 0] <= end) & (others[:, 1] >= start)).any())


def _chosen(
    gene: list[Transcript], sequence: str, strands: Collection[str], donors: Collection[str]
) -> tuple[Transcript | None, str]:
    """The transcript to learn from, or what is wrong with the longest."""
    problem = ""
    for t in sorted(gene, key=lambda t: -t.length):
        problems = [str(p) for p in coding_problems(t, sequence, donors=donors)]
        if min(b - a for a, b in (t.exons[0], t.exons[-1])) < _CODON:
            problems.append("a start or stop codon split by an intron")
        if t.strand not in strands:
            problems.append(f"on the strand {t.strand}")
        if not problems:
            return t, ""
        problem = problem or problems[0]
    return None, problem


def _around(spans: np.ndarray, k: int, flank: int, n: int) -> tuple[int, int]:
    start, end = spans[k].tolist()
    before = max(chain([0], spans[spans[:, 1] <= start, 1].tolist()))
    after = min(chain([n], spans[spans[:, 0] >= end, 0].tolist()))
    low = start - flank if not before else max(start - flank, (before + start + 1) // 2)
    high = end + flank if after == n else min(end + flank, (end + after) // 2)
    return max(0, low), min(n, high)


def _moved(t: Transcript, by: int) -> Transcript:
    return replace(t, exons=tuple((a - by, b - by) for a, b in t.exons))
