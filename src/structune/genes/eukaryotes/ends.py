"""Genes that go on beyond the ends of their sequence.

The graph begins and ends between genes. So what a gene may begin or end with is put before and behind a
sequence, of both strands and all frames, and unknown bases between: a start codon and donors, acceptors and
a stop codon. What a gene has there is cut off again, and it is marked as partial.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from Bio.Seq import reverse_complement

from structune.genes.eukaryotes.hints import Hints
from structune.genes.eukaryotes.pieces import Gene
from structune.genes.eukaryotes.structure.nodes import SIGNALS
from structune.genes.eukaryotes.structure.rules import START, STOPS
from structune.genes.formats.record import Exons
from structune.structure import FloatArray

# Log odds of a start or stop there beside elsewhere, chosen as benchmarks/cut_genes.py says.
_LIKELY = 1.0
_LEAST = 60  # known coding bases of a gene that is cut
_SPACE, _EXON, _BETWEEN = "N" * 20, "N" * 100, "N" * 50  # the last is longer where introns are
_STOP = STOPS[0]
_BEGIN = f"{_SPACE}{START}N{START}N{START}{_EXON}GTNNGTNNGT"
_END = f"AGNNAGNNAG{_EXON}{_STOP}N{_STOP}N{_STOP}{_SPACE}"


class Ends:
    """What is put before and behind a sequence.

    Parameters
    ----------
    shortest : int
        The shortest intron of the model.
    """

    def __init__(self, shortest: int) -> None:
        self.before: str = _BEGIN + reverse_complement(_END) + "N" * max(shortest, len(_BETWEEN))
        self.behind: str = reverse_complement(self.before)

    def may_be_open(self, text: str) -> bool:
        """Whether a part of a gene could be found in a sequence."""
        return _n_known(text) >= _LEAST

    def text(self, text: str) -> str:
        return self.before + text + self.behind

    def tracks(self, values: FloatArray) -> FloatArray:
        return np.pad(values, ((len(self.before), len(self.behind)), (0, 0)))

    def hints(self, hints: Hints, n: int) -> Hints:
        """Those of a sequence of n bases at their new places, and those of its ends."""
        lead = len(self.before)
        added = [*_sites(self.before, 0), *_sites(self.behind, lead + n)]
        sites, parts = hints.sites[hints.sites[:, 2] <= n], hints.parts.copy()
        parts[:, :2] = np.minimum(parts[:, :2], n) + lead
        return replace(
            hints, sites=np.concatenate([sites + np.array([0, 0, lead, 0, 0]), np.array(added)]), parts=parts
        )

    def cut(self, genes: Iterable[Gene], text: str) -> Iterator[Gene]:
        """Genes at their places in the sequence, without what is beyond it."""
        lead, n = len(self.before), len(text)
        for gene in genes:
            moved = gene.moved(-lead)
            partial = moved.start < 0, moved.end > n
            if not any(partial):
                yield moved
                continue
            exons, first = within(moved.exons, 0, n), moved.strand == "-"
            beyond = [max(0, b - max(a, n)) if first else max(0, min(b, 0) - a) for a, b in moved.exons]
            if _n_known("".join(text[a:b] for a, b in exons)) >= _LEAST:
                yield replace(moved, exons=exons, partial=partial, phase=-sum(beyond) % 3)


def within(exons: Exons, start: int, end: int) -> Exons:
    """The parts of exons between two places."""
    return tuple((max(a, start), min(b, end)) for a, b in exons if b > start and a < end)


def _n_known(text: str) -> int:
    return sum(map(text.upper().count, "ACGTU"))


def _sites(text: str, offset: int) -> Iterator[tuple[float, ...]]:
    """Starts and stops of both strands, as `Hints` has them."""
    for reverse in (False, True):
        for signal, codon in (("start", START), ("stop", _STOP)):
            letters = reverse_complement(codon) if reverse else codon
            behind = (signal == "stop") != reverse  # the end of the codon is that of the gene
            for found in re.finditer(letters, text):
                yield SIGNALS.index(signal), reverse, offset + found.span()[behind], _LIKELY, -1
