"""Sequences of DNA with the genes on them, from GenBank, or from GFF3 or GTF with FASTA."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TypeVar

from structune.errors import DataError
from structune.files.text import Lines, Source, plural, shown
from structune.genes.formats.dna import FASTA, parse_dna, read_dna, without_u
from structune.genes.formats.genbank import parse_genbank
from structune.genes.formats.gff import GeneAnnotation, read_annotation, read_gff3
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, genetic_code, is_cut

S = TypeVar("S")
T = TypeVar("T")
_HEAD = 100  # lines looked at
_STOP_CODONS = ("auto", "included", "excluded")
_STOPS = genetic_code(1).stop_codons
_CODON = 3


def read_genomes(
    annotation: Source,
    sequences: Source | None = None,
    stop_codon: str = "auto",
    tell: Callable[[str], None] = warnings.warn,
) -> Iterator[AnnotatedSequence]:
    """Read annotated sequences one at a time, in the order of the sequence file.

    Transcripts that reach an end of their sequence without a start or stop codon there are skipped.

    Parameters
    ----------
    annotation : path or file object
        GFF3 or GTF if `sequences` is given. Otherwise GenBank, or GFF3 that begins with ``##gff-version`` and
        has its sequences after ``##FASTA``. Either file may be compressed.
    sequences : path or file object, optional
        FASTA file of the sequences.
    stop_codon : {"auto", "included", "excluded"}
        Whether the coding parts in the file include the stop codon. "auto" adds it to transcripts of whole
        codons that end directly before a stop codon; "excluded" adds three bases to all transcripts.
    tell : function of str
        Called at the end with a message if "auto" has added stop codons. By default it issues a warning.

    Raises
    ------
    DataError
        As for `read_gff3`, `read_gtf`, `read_dna` and `read_genbank`. Also if `stop_codon` is invalid, a gene
        lies outside its sequence or, at the end, a sequence of the annotation is missing.
    """

    def without_cut(genome: AnnotatedSequence) -> AnnotatedSequence:
        # whatever the file says of transcripts that an end of the sequence cuts
        cut = [t for t in genome.transcripts if is_cut(t, genome.sequence)]
        reason = "incomplete: cut off by an end of its sequence"
        skipped = (Skipped(t.contig, t.name, reason, (t.start, t.end)) for t in cut)
        kept = tuple(t for t in genome.transcripts if t not in cut)
        return replace(genome, transcripts=kept, skipped=(*genome.skipped, *skipped)) if cut else genome

    lines = Lines(annotation, strip=False)
    return map(without_cut, with_stop_codons(_as_in_file(lines, sequences), stop_codon, lines.name, tell))


def read_annotated(
    annotations: Sequence[Source],
    sequences: Sequence[Source],
    stop_codon: str = "auto",
    tell: Callable[[str], None] = warnings.warn,
) -> Iterator[AnnotatedSequence]:
    """The sequences of all files, one at a time, as `read_genomes` reads them."""
    for annotation, fasta in paired(annotations, sequences):
        yield from read_genomes(annotation, fasta, stop_codon, tell)


def paired(annotations: Sequence[S], sequences: Sequence[T]) -> Iterator[tuple[S, T | None]]:
    """Each annotation with the file of its sequences, if those have files of their own."""
    if sequences and len(sequences) != len(annotations):
        raise DataError(
            f"there are {len(sequences)} sequence files, but {len(annotations)} annotations. "
            "Give one file of sequences for each annotation."
        )
    return zip_longest(annotations, sequences)


def _as_in_file(lines: Lines, sequences: Source | None) -> Iterator[AnnotatedSequence]:
    """Annotated sequences of a file of any format, or of one of genes and one of their sequences."""
    if sequences is not None:
        lines.strip()
        return annotated(read_annotation(lines), read_dna(sequences), lines.name)
    if not _first_of(lines).startswith("##gff-version"):
        return parse_genbank(lines)
    lines.strip()
    within = ": give them after ##FASTA, or in a FASTA file of their own"
    return annotated(read_gff3(lines), parse_dna(lines, within, (FASTA, "GFF3", "GTF", "GFF2")), lines.name)


def _first_of(lines: Lines) -> str:
    """The first line that is not blank; empty if there is none."""
    return next((text for text in lines.head(_HEAD) if text.strip()), "")


def read_sequences(
    source: Source, skipped: Callable[[DataError], None] | None = None
) -> Iterator[AnnotatedSequence]:
    """Read the sequences of a FASTA or GenBank file one at a time; GenBank features are ignored.

    Parameters
    ----------
    source : path or file object
        Compressed or not.
    skipped : function of DataError, optional
        Called with the error of each record that cannot be read; the record is skipped. By default the error
        is raised.

    Raises
    ------
    DataError
        As for `read_dna` and `read_genbank`; with `skipped`, only if there are no records.
    """
    lines = Lines(source, strip=False)
    is_genbank = _first_of(lines).startswith("LOCUS")
    parse = partial(parse_genbank, with_genes=False) if is_genbank else _of_fasta
    if skipped is None:
        yield from parse(lines)
        return
    # record by record, so that one that cannot be read does not end the reading of others
    names, is_empty = set[str](), True
    for piece in lines.pieces(lambda text: text.startswith("LOCUS" if is_genbank else ">")):
        if not _first_of(piece):
            continue  # before the first
        is_empty = False
        try:
            for found in parse(piece):
                if found.name in names:
                    again = f"the name {shown(found.name)} was already used; names must be unique"
                    raise DataError(f"{lines.name}: {again}")
                names.add(found.name)
                yield found
        except DataError as error:
            skipped(error)
    if is_empty:
        raise DataError(f"{lines.name}: the file has no sequences")


def _of_fasta(lines: Lines) -> Iterator[AnnotatedSequence]:
    lines.strip()
    for name, sequence in parse_dna(lines, "", (FASTA, "GenBank")):
        try:
            yield AnnotatedSequence(name, sequence)
        except DataError as error:
            raise DataError(f"{lines.name}: {error}") from error


def annotated(
    annotation: GeneAnnotation, sequences: Iterable[tuple[str, str]], name: str
) -> Iterator[AnnotatedSequence]:
    """Give sequences their genes; `name` is that of the annotation in errors."""
    skipped: dict[str, list[Skipped]] = defaultdict(list)
    for one in annotation.skipped:
        skipped[one.contig].append(one)
    # contigs of the annotation that have not come: known only once all sequences have
    unknown: dict[str, Sequence[Skipped | Transcript]] = {**skipped, **annotation.transcripts}
    for contig, sequence in sequences:
        unknown.pop(contig, None)
        transcripts, skips = annotation.transcripts.get(contig, ()), skipped[contig]
        if contig in annotation.circular:
            across = [t for t in transcripts if t.end > len(sequence)]
            skips += [Skipped(contig, t.name, "across the origin", (t.start, t.end)) for t in across]
            transcripts = tuple(t for t in transcripts if t.end <= len(sequence))
        try:
            yield AnnotatedSequence(contig, sequence, transcripts, tuple(skips))
        except DataError as error:
            raise DataError(f"{name}: {error}") from error
    if unknown:
        contig, on_it = next(iter(unknown.items()))
        raise DataError(
            f"{name}: there is no sequence named {shown(contig)}, which has "
            f"{plural(len(on_it), 'transcript')} (the first is {shown(on_it[0].name)})"
        )


def with_stop_codons(
    genomes: Iterable[AnnotatedSequence], stop_codon: str, name: str, tell: Callable[[str], None]
) -> Iterator[AnnotatedSequence]:
    """Sequences whose transcripts have their stop codons, as `read_genomes` says; `name` is of the file."""
    if stop_codon not in _STOP_CODONS:
        raise DataError(f"stop_codon={stop_codon!r}: expected one of {_STOP_CODONS}")
    n_added = n_transcripts = 0
    for genome in genomes:
        changed = list(genome.transcripts)
        for k, t in enumerate(changed):
            more = None if stop_codon == "included" else longer(t, len(genome.sequence))
            if more is not None and stop_codon == "auto":
                # whole codons, the last of which is no stop, and the next is one
                codons = (each.coding_sequence(genome.sequence)[-_CODON:] for each in (t, more))
                is_stop = [without_u(codon).upper() in _STOPS for codon in codons]
                more = more if is_stop == [False, True] and t.length % _CODON == 0 else None
            changed[k] = more or t
            n_added += more is not None
        n_transcripts += len(changed)
        yield replace(genome, transcripts=tuple(changed)) if changed else genome
    if n_added and stop_codon == "auto":
        some = f"{n_added:,} of {n_transcripts:,} transcripts"
        tell(f"{name}: {some} end directly before a stop codon, which was added to them")


def longer(t: Transcript, n_bases: int) -> Transcript | None:
    """The transcript with three more bases at its end; None if the sequence ends before."""
    if t.strand == "+":
        (start, end), others = t.exons[-1], t.exons[:-1]
        return replace(t, exons=(*others, (start, end + _CODON))) if end + _CODON <= n_bases else None
    (start, end), *rest = t.exons
    return replace(t, exons=((start - _CODON, end), *rest)) if start >= _CODON else None
