"""Sequences with their genes as GenBank."""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection, Iterable

from Bio import BiopythonWarning
from Bio.Seq import Seq
from Bio.SeqFeature import AfterPosition, BeforePosition, CompoundLocation, SeqFeature, SimpleLocation
from Bio.SeqRecord import SeqRecord

from structune.errors import DataError
from structune.files.text import Source, one_word, save, shown
from structune.genes.formats.record import AnnotatedSequence, Transcript


def write_genbank(target: Source, genomes: Iterable[AnnotatedSequence], code: int = 1) -> None:
    """Write sequences with their genes as GenBank, with the proteins.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    genomes : iterable of AnnotatedSequence
    code : int
        NCBI's number of the genetic code.

    Raises
    ------
    DataError
        There is no such genetic code; a name that GenBank's first line has no room for.
    """
    save(target, "".join(genbank_text(genome, code) for genome in genomes))


def genbank_text(genome: AnnotatedSequence, code: int = 1, starts: Collection[str] | None = None) -> str:
    """A record."""
    from Bio import SeqIO  # slow to import

    name = one_word(genome.name)
    record = SeqRecord(
        Seq(genome.sequence), id=name, name=name, description="", annotations={"molecule_type": "DNA"}
    )
    genes: set[str] = set()
    for t in genome.transcripts:
        if t.gene not in genes:
            genes.add(t.gene)
            isoforms = [other for other in genome.transcripts if other.gene == t.gene]
            record.features.append(_gene(t, isoforms))
        record.features.append(_cds(t, genome.sequence, code, starts))
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # of names longer than 16 letters
        try:
            SeqIO.write(record, out, "genbank")
        except ValueError as error:
            raise DataError(f"{shown(genome.name)}: cannot be written as GenBank ({error})") from None
    return out.getvalue()


def _gene(t: Transcript, isoforms: Iterable[Transcript]) -> SeqFeature:
    spans = [(other.start, other.end, other.partial) for other in isoforms]
    start, end = min(a for a, _, _ in spans), max(b for _, b, _ in spans)
    cut = any(partial[0] for *_, partial in spans), any(partial[1] for *_, partial in spans)
    return SeqFeature(_location([(start, end)], t.strand, cut), "gene", qualifiers={"gene": t.gene})


def _cds(t: Transcript, sequence: str, code: int, starts: Collection[str] | None) -> SeqFeature:
    notes = [f"{key}: {text}" for key, text in t.notes]
    notes += [] if t.score is None else [f"score: {t.score:.6g}"]
    qualifiers = {
        "gene": t.gene,
        "standard_name": t.name,
        "codon_start": 1,
        "transl_table": code,
        **({"note": notes} if notes else {}),
        "translation": t.protein(sequence, code, starts),
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
