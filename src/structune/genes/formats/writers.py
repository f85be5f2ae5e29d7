"""Genes as GFF3, and as FASTA of their coding sequences and proteins."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import quote

from structune.errors import DataError
from structune.files.text import Source, one_word, save, shown
from structune.genes.formats.record import AnnotatedSequence, Transcript, by_gene, extent

_IN_CONTIG = ".:^*$@!+?-|"  # what GFF3 allows beside letters and digits
_IN_NAME = _IN_CONTIG + "/()[]{}<>'\"#~"
_SOURCE = "structune"
_WIDTH = 60
GFF3_HEAD = "##gff-version 3\n"


def write_gff3(target: Source, transcripts: Iterable[Transcript]) -> None:
    """Write transcripts as GFF3, compressed by gzip where the path ends in ``.gz``.

    A gene, its mRNA, and their CDS lines with phases; IDs begin with ``gene:``, ``transcript:``, ``CDS:``,
    and `read_gff3` gives back the same names and scores. Untranslated parts are not known: a gene and an mRNA
    span the coding parts. The score of a gene is the best of its transcripts'. Those that go on beyond an end
    are marked as NCBI does, by ``partial``, ``start_range`` and ``end_range``, genetic codes that transcripts
    have are ``transl_table`` of their CDS lines, and what else is known stands
    in the line of the mRNA.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    transcripts : iterable of Transcript
        Genes are written in the order of their first transcripts.

    Raises
    ------
    DataError
        Names the transcript whose name is taken, and the gene on two contigs or strands.
    """
    save(target, GFF3_HEAD + gff3_text(transcripts))


def gff3_text(transcripts: Iterable[Transcript]) -> str:
    """What follows `GFF3_HEAD`; texts of several contigs may follow each other."""
    given, names = list(transcripts), set[str]()
    for t in given:
        if t.name in names:
            raise DataError(f"transcript {shown(t.name)}: found the name again, expected another one")
        names.add(t.name)
    return "".join(_gene_text(gene, of) for gene, of in by_gene(given).items())


def region_text(of: AnnotatedSequence) -> str:
    """The directive of GFF3 that says how long a sequence is."""
    return f"##sequence-region {quote(of.name, safe=_IN_CONTIG)} 1 {len(of.sequence)}\n"


def write_proteins(target: Source, genomes: Iterable[AnnotatedSequence], code: int = 1) -> None:
    """Write the proteins of all transcripts as FASTA, without the stop at the end.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    genomes : iterable of AnnotatedSequence
    code : int
        NCBI's number of the genetic code of transcripts that have none.

    Raises
    ------
    DataError
        There is no such genetic code.
    """
    save(target, "".join(proteins_text(genome, code) for genome in genomes))


def proteins_text(genome: AnnotatedSequence, code: int = 1, starts: Collection[str] | None = None) -> str:
    return "".join(_fasta(t, t.protein(genome.sequence, t.code or code, starts)) for t in genome.transcripts)


def write_coding_sequences(target: Source, genomes: Iterable[AnnotatedSequence]) -> None:
    """Write the coding sequences of all transcripts as FASTA, from start to stop codon.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    genomes : iterable of AnnotatedSequence
    """
    save(target, "".join(map(coding_sequences_text, genomes)))


def coding_sequences_text(genome: AnnotatedSequence) -> str:
    return "".join(_fasta(t, t.coding_sequence(genome.sequence)) for t in genome.transcripts)


def _gene_text(gene: str, isoforms: list[Transcript]) -> str:
    if len({(t.contig, t.strand) for t in isoforms}) > 1:
        raise DataError(f"gene {shown(gene)}: found it on two contigs or strands, expected one")
    gene = quote(gene, safe=_IN_NAME)
    span, goes_on = extent(isoforms)
    score = max((t.score for t in isoforms if t.score is not None), default=None)
    cut = _partial(span, *goes_on)
    lines = [_line(isoforms[0], "gene", span, score, ".", f"ID=gene:{gene};Name={gene}{cut}")]
    for t in isoforms:
        name, cut = quote(t.name, safe=_IN_NAME), _partial((t.start, t.end), *t.partial)
        notes = "".join(f";{key}={quote(text, safe=_IN_NAME)}" for key, text in t.notes)
        named = f"ID=transcript:{name};Parent=gene:{gene};Name={name}{cut}{notes}"
        lines.append(_line(t, "mRNA", (t.start, t.end), t.score, ".", named))
        code = "" if t.code is None else f";transl_table={t.code}"
        part = f"ID=CDS:{name};Parent=transcript:{name}{cut}{code}"
        lines += [
            _line(t, "CDS", exon, None, str(phase), part)
            for exon, phase in zip(t.exons, t.phases, strict=True)
        ]
    return "".join(lines)


def _partial(span: tuple[int, int], before: bool, behind: bool) -> str:
    """Marks of what goes on beyond its span."""
    marks = [f";start_range=.,{span[0] + 1}"] if before else []
    marks += [f";end_range={span[1]},."] if behind else []
    return ";partial=true" + "".join(marks) if marks else ""


def _line(
    t: Transcript, kind: str, span: tuple[int, int], score: float | None, phase: str, attributes: str
) -> str:
    contig = quote(t.contig, safe=_IN_CONTIG)
    shown_score = "." if score is None else repr(float(score))
    columns = (
        contig,
        _SOURCE,
        kind,
        str(span[0] + 1),
        str(span[1]),
        shown_score,
        t.strand,
        phase,
        attributes,
    )
    return "\t".join(columns) + "\n"


def _fasta(t: Transcript, letters: str) -> str:
    place = f"{one_word(t.contig)}:{t.start + 1}-{t.end}({t.strand})"
    cut = dict(zip("53" if t.strand == "+" else "35", t.partial, strict=True))
    if ends := ",".join(f"{end}-prime" for end in "53" if cut[end]):
        place = f"partial={ends} {place}"
    rows = [letters[k : k + _WIDTH] for k in range(0, len(letters), _WIDTH)]
    return "\n".join([f">{one_word(t.name)} gene={one_word(t.gene)} {place}", *rows, ""])
