"""Genes as lines of a table, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from structune.files.text import Source, save
from structune.genes.formats.record import Transcript

COLUMNS = ("contig", "gene", "transcript", "start", "end", "strand", "score", "exons", "partial", "notes")


def write_table(target: Source, transcripts: Iterable[Transcript]) -> None:
    """Write transcripts as a table, tab-separated, with a line of names of columns.

    Positions count from 1, and ends are included, as in GFF3: exons are ``5-12,21-26``. ``partial`` is empty,
    or says whether a gene goes on before its start, behind its end, or both. ``notes`` are what GFF3 has in
    its last column.

    Parameters
    ----------
    target : path or file object
        Compressed by gzip where the path ends in ``.gz``.
    transcripts : iterable of Transcript
    """
    save(target, TABLE_HEAD + table_text(transcripts))


def table_text(transcripts: Iterable[Transcript]) -> str:
    """What follows `TABLE_HEAD`."""
    return _lines(_cells(t) for t in transcripts)


def _cells(t: Transcript) -> list[str]:
    exons = ",".join(f"{a + 1}-{b}" for a, b in t.exons)
    partial = ",".join(name for name, is_cut in zip(("before", "behind"), t.partial, strict=True) if is_cut)
    notes = ";".join(f"{key}={text}" for key, text in t.notes)
    score = "" if t.score is None else f"{t.score:.6g}"
    return [t.contig, t.gene, t.name, str(t.start + 1), str(t.end), t.strand, score, exons, partial, notes]


def _lines(rows: Iterable[Iterable[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter="\t", lineterminator="\n").writerows(rows)
    return out.getvalue()


TABLE_HEAD = _lines([COLUMNS])
