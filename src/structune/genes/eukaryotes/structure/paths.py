"""Genes as paths of the state machine of genes, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.eukaryotes.machine.machine import Machine
from structune.genes.eukaryotes.structure.gene_machine import INTERGENIC
from structune.genes.formats.record import Exons, Transcript

Path = NDArray[np.int8]


def gene_path(machine: Machine, sequence: str, transcripts: Iterable[Transcript]) -> Path:
    """The state of each position, shape (n,).

    Raises
    ------
    DataError
        Transcripts that overlap, reach beyond the sequence, or are of a strand that the machine does not
        have. What else is not a path of the machine, such as introns without the right ends,
        `StateMachine.encode` refuses.
    """
    path = np.full(len(sequence), machine.state_id[INTERGENIC], np.int8)
    ordered = sorted(transcripts, key=lambda t: t.start)
    for a, b in pairwise(ordered):
        if b.start <= a.end:
            raise DataError(f"transcripts {a.name} and {b.name} overlap or touch")
    for t in ordered:
        if t.end > path.size:
            raise DataError(f"transcript {t.name} ends at {t.end}, beyond the sequence of {path.size}")
        bases = sequence[t.start : t.end].upper().replace("U", "T")
        for place, name in _gene_states(bases, t):
            if name not in machine.state_id:
                raise DataError(
                    f"transcript {t.name} is on the strand {t.strand!r}, which the model does not have"
                )
            path[place] = machine.state_id[name]
    return path


def _gene_states(bases: str, transcript: Transcript) -> list[tuple[slice, str]]:
    """States by name, of coding bases and of introns."""
    places = [p for a, b in transcript.exons for p in range(a, b)]
    sign, start = transcript.strand, transcript.start
    names = _coding_states([bases[p - start] for p in places], sign)
    found = [(slice(p, p + 1), f"{name}{sign}") for p, name in zip(places, names, strict=True)]
    before = dict(zip(places, names, strict=True))
    inside = [f"I{before[a - 1][1:]}{sign}" for a, _ in transcript.introns]
    if inside and sign == "-" and transcript.exons[-1][1] - transcript.exons[-1][0] == 3:
        inside[-1] = "IB-"  # a start codon alone comes after it
    return found + [(slice(*ends), name) for ends, name in zip(transcript.introns, inside, strict=True)]


def _coding_states(bases: Sequence[str], sign: str) -> list[str]:
    """As the machine names them, without the strand; in the order of the contig."""
    inner = _forward_codon if sign == "+" else _reverse_codon
    first, last = (("B0", "B1", "C2"), ("E2",)) if sign == "+" else (("E2", "E1", "C0"), ("B2", "B1", "B0"))
    names = [name for k in range(0, len(bases), 3) for name in inner(bases[k : k + 3])]
    names[:3] = first
    names[-len(last) :] = last
    return names[: len(bases)]


def _forward_codon(codon: Sequence[str]) -> list[str]:
    t = codon[0] == "T"
    second = codon[1] if len(codon) > 1 else ""
    return ["C0T" if t else "C0", f"C1T{second}" if t and second in ("A", "G") else "C1", "C2"]


def _reverse_codon(codon: Sequence[str]) -> list[str]:
    pair = "".join(codon[:2])
    first = f"C2{codon[0]}" if codon[0] in ("T", "C") else "C2"
    return [first, "C1stop" if pair in ("TT", "TC", "CT") else "C1", "C0"]


def path_genes(machine: Machine, path: Path) -> list[tuple[str, Exons]]:
    """The strand and coding parts of each gene on a path, by start."""
    gene_ends = np.flatnonzero(
        np.diff(np.concatenate(([False], path != machine.state_id[INTERGENIC], [False])))
    )
    coding = np.array([state.name[0] in "BCE" for state in machine.states])[path]
    found = []
    for a, b in gene_ends.reshape(-1, 2).tolist():
        edges = np.flatnonzero(np.diff(np.concatenate(([False], coding[a:b], [False])))) + a
        strand = machine.states[path[a]].strand
        found.append((strand, tuple((int(c), int(d)) for c, d in edges.reshape(-1, 2))))
    return found
