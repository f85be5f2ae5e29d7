"""Writing genes as GFF3, GenBank and tables, and their coding sequences and proteins as FASTA."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from urllib.parse import quote

from Bio import BiopythonWarning
from Bio.Seq import Seq
from Bio.SeqFeature import AfterPosition, BeforePosition, CompoundLocation, SeqFeature, SimpleLocation
from Bio.SeqRecord import SeqRecord

from structune.errors import DataError
from structune.files.provenance import made_by
from structune.files.text import Source, one_word, save, shown
from structune.genes.formats.record import AnnotatedSequence, Transcript, by_gene

_IN_CONTIG = ".:^*$@!+?-|"  # what GFF3 allows beside letters and digits
_IN_NAME = _IN_CONTIG + "/()[]{}<>'\"#~"
_WIDTH = 60
_ROOM = 50  # letters of a name in GenBank: a longer one is broken, and read with a blank there


def _whole(isoforms: Sequence[Transcript]) -> Transcript:
    """A gene as one part, from the first to the last base of its transcripts, with their best score."""
    span = min(t.start for t in isoforms), max(t.end for t in isoforms)
    partial = any(t.partial[0] for t in isoforms), any(t.partial[1] for t in isoforms)
    score = max((t.score for t in isoforms if t.score is not None), default=None)
    return replace(isoforms[0], exons=(span,), partial=partial, score=score)


def write_gff3(target: Source, transcripts: Iterable[Transcript], model: str = "") -> None:
    """Write transcripts as GFF3, which `read_gff3` can read again.

    Each gene has a gene line, an mRNA line per transcript, and CDS lines with phases. IDs begin with
    ``gene:``, ``transcript:`` and ``CDS:``. Genes and mRNAs span the coding parts. The score of a gene is the
    best score of its transcripts. Partial genes are marked by ``partial``, ``start_range`` and ``end_range``,
    as in files of NCBI. CDS lines give the genetic code as ``transl_table``. mRNA lines contain the notes. A
    comment after the first line names the structune version and the model.

    Parameters
    ----------
    target : path or file object
        Binary or text; compressed by gzip where the path ends in ``.gz``.
    transcripts : iterable of Transcript
        Genes are written in the order of their first transcripts.
    model : str
        Name of the model for the comment; "" for none.

    Raises
    ------
    DataError
        Two transcripts have the same name, or a gene has transcripts on several contigs or strands.
    """
    save(target, gff3_head(model) + gff3_text(transcripts))


def gff3_head(model: str = "") -> str:
    """The first lines of a file, which name the format, structune and the model."""
    return f"##gff-version 3\n# {made_by(model)}\n"


def gff3_text(transcripts: Iterable[Transcript]) -> str:
    """What follows `gff3_head`; texts of several contigs may follow each other."""
    # IDs are made of names, so these must differ; in genes, CDS lines of one transcript share theirs
    given, lines = list(transcripts), list[str]()
    for name, n in Counter(t.name for t in given).items():
        if n > 1:
            raise DataError(f"the name {shown(name)} belongs to {n} transcripts; names must be unique")
    for gene, isoforms in by_gene(given).items():
        if len({(t.contig, t.strand) for t in isoforms}) > 1:
            told = "lie on several contigs or strands. Give other genes other names"
            raise DataError(f"transcripts of gene {shown(gene)} {told}")
        # of one transcript the line is that of the transcript: making another one takes as long as the text
        gene, whole = quote(gene, safe=_IN_NAME), _whole(isoforms) if len(isoforms) > 1 else isoforms[0]
        lines.append(_line(whole, "gene", f"ID=gene:{gene};Name={gene}{_goes_on(whole)}"))
        for t in isoforms:
            name, cut = quote(t.name, safe=_IN_NAME), _goes_on(t)
            notes = "".join(f";{key}={quote(text, safe=_IN_NAME)}" for key, text in t.notes)
            named = f"ID=transcript:{name};Parent=gene:{gene};Name={name}{cut}{notes}"
            lines.append(_line(t, "mRNA", named))
            code = "" if t.code is None else f";transl_table={t.code}"
            named = f"ID=CDS:{name};Parent=transcript:{name}{cut}{code}"
            for exon, phase in zip(t.exons, t.phases, strict=True):
                lines.append(_line(t, "CDS", named, exon, str(phase)))
    return "".join(lines)


def region_text(of: AnnotatedSequence) -> str:
    """The directive of GFF3 that says how long a sequence is."""
    return f"##sequence-region {quote(of.name, safe=_IN_CONTIG)} 1 {len(of.sequence)}\n"


def _goes_on(t: Transcript) -> str:
    """Attributes of GFF3 that mark what goes on before or behind its span."""
    marks = [f";start_range=.,{t.start + 1}"] if t.partial[0] else []
    marks += [f";end_range={t.end},."] if t.partial[1] else []
    return ";partial=true" + "".join(marks) if marks else ""


def _line(
    t: Transcript, kind: str, attributes: str, part: tuple[int, int] | None = None, phase: str = "."
) -> str:
    """A line of GFF3; that of a part has no score."""
    start, end = part or (t.start, t.end)
    score = "." if part or t.score is None else repr(float(t.score))
    place = f"{start + 1}\t{end}\t{score}\t{t.strand}"
    return f"{quote(t.contig, safe=_IN_CONTIG)}\tstructune\t{kind}\t{place}\t{phase}\t{attributes}\n"


def write_proteins(target: Source, genomes: Iterable[AnnotatedSequence], code: int = 1) -> None:
    """Write the proteins of all transcripts as FASTA, without the stop at the end.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    genomes : iterable of AnnotatedSequence
    code : int
        NCBI number of the genetic code for transcripts without a `code`.
    """
    save(target, "".join(proteins_text(genome, code) for genome in genomes))


def proteins_text(genome: AnnotatedSequence, code: int = 1, starts: Collection[str] | None = None) -> str:
    """FASTA of the proteins, by `code` where a transcript has none."""
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


def _fasta(t: Transcript, letters: str) -> str:
    """An entry of FASTA: the transcript in its head, and letters in rows."""
    place = f"{one_word(t.contig)}:{t.start + 1}-{t.end}({t.strand})"
    # `partial` is along the contig, 5' and 3' along the strand
    cut = dict(zip("53" if t.strand == "+" else "35", t.partial, strict=True))
    if ends := ",".join(f"{end}-prime" for end in "53" if cut[end]):
        place = f"partial={ends} {place}"
    rows = [letters[k : k + _WIDTH] for k in range(0, len(letters), _WIDTH)]
    return "\n".join([f">{one_word(t.name)} gene={one_word(t.gene)} {place}", *rows, ""])


def write_genbank(
    target: Source, genomes: Iterable[AnnotatedSequence], code: int = 1, model: str = ""
) -> None:
    """Write sequences as GenBank, with their genes and proteins.

    Each record has the version of structune and the model as its COMMENT.

    Gene names longer than 50 letters lose the contig name at their beginning, because readers insert a blank
    into names that take two lines.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    genomes : iterable of AnnotatedSequence
    code : int
        NCBI number of the genetic code for transcripts without a `code`.
    model : str
        Name of the model for the comments; "" for none.

    Raises
    ------
    DataError
        There is no such genetic code, or a gene has transcripts on both strands.
    """
    save(target, "".join(genbank_text(genome, code, model=model) for genome in genomes))


def genbank_text(
    genome: AnnotatedSequence, code: int = 1, starts: Collection[str] | None = None, *, model: str = ""
) -> str:
    """A record; none of a sequence without bases, which readers refuse."""
    from Bio import SeqIO  # slow to import

    if not genome.sequence:
        return ""
    name, marks = one_word(genome.name), {"molecule_type": "DNA", "comment": made_by(model)}
    record = SeqRecord(Seq(genome.sequence), id=name, name=name, description="", annotations=marks)
    for gene, isoforms in by_gene(genome.transcripts).items():
        if len({t.strand for t in isoforms}) > 1:
            told = "lie on both strands. Give other genes other names"
            raise DataError(f"transcripts of gene {shown(gene)} {told}")
        whole = _whole(isoforms)
        short = gene if len(gene) <= _ROOM else gene.removeprefix(f"{whole.contig}.")
        record.features.append(SeqFeature(_location(whole), "gene", qualifiers={"gene": short}))
        for t in isoforms:
            notes = [f"{key}: {text}" for key, text in t.notes]
            notes += [] if t.score is None else [f"score: {t.score:.6g}"]
            qualifiers = {
                "gene": short,
                "codon_start": 1 + t.phase,
                "transl_table": t.code or code,
                **({"note": notes} if notes else {}),
                "translation": t.protein(genome.sequence, t.code or code, starts),
            }
            record.features.append(SeqFeature(_location(t), "CDS", qualifiers=qualifiers))
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # of names longer than 16 letters
        SeqIO.write(record, out, "genbank")
    return out.getvalue()


def _location(t: Transcript) -> SimpleLocation | CompoundLocation:
    """Parts as Biopython has them, marked where they go on before the first or behind the last."""
    starts, ends = [a for a, _ in t.exons], [b for _, b in t.exons]
    if t.partial[0]:
        starts[0] = BeforePosition(starts[0])
    if t.partial[1]:
        ends[-1] = AfterPosition(ends[-1])
    # on the reverse strand Biopython wants the parts in the order of reading
    sign = 1 if t.strand == "+" else -1
    found = [SimpleLocation(a, b, sign) for a, b in zip(starts, ends, strict=True)][::sign]
    return found[0] if len(found) == 1 else CompoundLocation(found)


def write_table(target: Source, transcripts: Iterable[Transcript]) -> None:
    """Write transcripts as a tab-separated table with a header line.

    Positions count from 1 and ends are inclusive, as in GFF3; exons are written as ``5-12,21-26``.
    ``partial`` is "before", "behind" or both if the gene continues before its start or after its end, and
    empty for complete genes. ``notes`` has the notes of the transcript.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    transcripts : iterable of Transcript
    """
    save(target, TABLE_HEAD + table_text(transcripts))


def table_text(transcripts: Iterable[Transcript]) -> str:
    """What follows `TABLE_HEAD`."""
    out = io.StringIO()
    rows = csv.writer(out, delimiter="\t", lineterminator="\n")
    for t in transcripts:
        exons = ",".join(f"{a + 1}-{b}" for a, b in t.exons)
        partial = ",".join(name for name, cut in zip(("before", "behind"), t.partial, strict=True) if cut)
        notes = ";".join(f"{key}={text}" for key, text in t.notes)
        score = "" if t.score is None else f"{t.score:.6g}"
        where = str(t.start + 1), str(t.end), t.strand
        rows.writerow([t.contig, t.gene, t.name, *where, score, exons, partial, notes])
    return out.getvalue()


TABLE_HEAD = "contig\tgene\ttranscript\tstart\tend\tstrand\tscore\texons\tpartial\tnotes\n"
