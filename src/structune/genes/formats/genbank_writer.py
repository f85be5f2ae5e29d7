"""Sequences with their genes as GenBank."""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection, Iterable, Sequence

from Bio import BiopythonWarning
from Bio.Seq import Seq
from Bio.SeqFeature import AfterPosition, BeforePosition, CompoundLocation, SeqFeature, SimpleLocation
from Bio.SeqRecord import SeqRecord

from structune.errors import DataError
from structune.files.text import Source, one_word, save, shown
from structune.genes.formats.record import AnnotatedSequence, Transcript, by_gene, extent

_ROOM = 50  # letters


def write_genbank(target: Source, genomes: Iterable[AnnotatedSequence], code: int = 1) -> None:
    """Write sequences with their genes as GenBank, with the proteins.

    Names of genes of more than 50 letters are without that of the contig, if they begin with it: a longer one
    takes two lines, between which readers put a blank.

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
        There is no such genetic code; names the gene on two strands.
    """
    save(target, "".join(genbank_text(genome, code) for genome in genomes))


def genbank_text(genome: AnnotatedSequence, code: int = 1, starts: Collection[str] | None = None) -> str:
    """A record; none of a sequence without bases, which readers refuse."""
    from Bio import SeqIO  # slow to import

    if not genome.sequence:
        return ""
    name = one_word(genome.name)
    record = SeqRecord(
        Seq(genome.sequence), id=name, name=name, description="", annotations={"molecule_type": "DNA"}
    )
    for gene, isoforms in by_gene(genome.transcripts).items():
        record.features.append(_gene(gene, isoforms))
        record.features += [_cds(t, genome.sequence, code, starts) for t in isoforms]
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # of names longer than 16 letters
        SeqIO.write(record, out, "genbank")
    return out.getvalue()


def _gene(gene: str, isoforms: Sequence[Transcript]) -> SeqFeature:
    if len({t.strand for t in isoforms}) > 1:
        raise DataError(f"gene {shown(gene)}: found it on two strands, expected one")
    span, goes_on = extent(isoforms)
    return SeqFeature(
        _location([span], isoforms[0].strand, goes_on), "gene", qualifiers={"gene": _short(isoforms[0])}
    )


def _short(t: Transcript) -> str:
    """The name of a gene without that of its contig if there is no room for it: a line is broken, and read
    with a blank there."""
    return t.gene if len(t.gene) <= _ROOM else t.gene.removeprefix(f"{t.contig}.")


def _cds(t: Transcript, sequence: str, code: int, starts: Collection[str] | None) -> SeqFeature:
    notes = [f"{key}: {text}" for key, text in t.notes]
    notes += [] if t.score is None else [f"score: {t.score:.6g}"]
    qualifiers = {
        "gene": _short(t),
        "codon_start": 1 + t.phase,
        "transl_table": t.code or code,
        **({"note": notes} if notes else {}),
        "translation": t.protein(sequence, t.code or code, starts),
    }
    return SeqFeature(_location(t.exons, t.strand, t.partial), "CDS", qualifiers=qualifiers)


def _location(
    parts: Iterable[tuple[int, int]], strand: str, cut: tuple[bool, bool]
) -> SimpleLocation | CompoundLocation:
    """On the reverse strand Biopython wants the parts in the order of reading."""
    spans = list(parts)
    sign = 1 if strand == "+" else -1
    found = [
        SimpleLocation(
            BeforePosition(a) if k == 0 and cut[0] else a,
            AfterPosition(b) if k == len(spans) - 1 and cut[1] else b,
            sign,
        )
        for k, (a, b) in enumerate(spans)
    ][::sign]
    return found[0] if len(found) == 1 else CompoundLocation(found)
