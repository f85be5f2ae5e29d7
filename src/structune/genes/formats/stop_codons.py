"""Stop codons that files leave out of coding parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from structune.errors import DataError
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import AnnotatedSequence, Transcript, along_strand, genetic_code

STOP_CODONS = ("auto", "included", "excluded")
_STOPS = genetic_code(1).stop_codons
_CODON = 3


def with_stop_codons(
    genomes: Iterable[AnnotatedSequence], stop_codon: str, name: str, tell: Callable[[str], None]
) -> Iterator[AnnotatedSequence]:
    """Sequences whose transcripts have their stop codons within their coding parts.

    Parameters
    ----------
    genomes : iterable of AnnotatedSequence
    stop_codon : {"auto", "included", "excluded"}
        Whether coding parts have them already. "auto" adds them to transcripts of whole codons that end
        before one; "excluded" adds three bases to all.
    name : str
        Of the file.
    tell : function of str
        Called at the end, if "auto" has added some.
    """
    if stop_codon not in STOP_CODONS:
        raise DataError(f"stop_codon={stop_codon!r}: expected one of {STOP_CODONS}")
    n_added = n_transcripts = 0
    for genome in genomes:
        changed = tuple(_with_stop(t, genome.sequence, stop_codon) for t in genome.transcripts)
        n_added += sum(a is not b for a, b in zip(changed, genome.transcripts, strict=True))
        n_transcripts += len(changed)
        yield replace(genome, transcripts=changed) if changed else genome
    if n_added and stop_codon == "auto":
        some = f"{n_added} of {n_transcripts} transcripts"
        tell(f"{name}: {some} end before a stop codon, which was added to them")


def _with_stop(t: Transcript, sequence: str, stop_codon: str) -> Transcript:
    if stop_codon == "included":
        return t
    more = longer(t, len(sequence))
    if more is None or stop_codon == "excluded":
        return more or t
    last, behind = _last_codon(t, sequence), _last_codon(more, sequence)
    return more if t.length % _CODON == 0 and last not in _STOPS and behind in _STOPS else t


def longer(t: Transcript, n_bases: int) -> Transcript | None:
    """With three bases more at its end, if there are so many."""
    if t.strand == "+":
        (start, end), others = t.exons[-1], t.exons[:-1]
        return replace(t, exons=(*others, (start, end + _CODON))) if end + _CODON <= n_bases else None
    (start, end), *rest = t.exons
    return replace(t, exons=((start - _CODON, end), *rest)) if start >= _CODON else None


def _last_codon(t: Transcript, sequence: str) -> str:
    start, end = t.exons[-1] if t.strand == "+" else t.exons[0]
    if end - start < _CODON:  # an intron splits it
        return _as_dna(t.coding_sequence(sequence)[-_CODON:])
    bases = sequence[end - _CODON : end] if t.strand == "+" else sequence[start : start + _CODON]
    return _as_dna(along_strand(bases, t.strand))


def _as_dna(bases: str) -> str:
    return without_u(bases).upper()
