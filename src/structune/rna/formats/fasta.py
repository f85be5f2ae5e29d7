"""FASTA files: a line ``>name description``, then the sequence on any number of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structune.files.text import Lines, Source, header_description, header_name, save, shown
from structune.rna.formats.record import RNARecord, clean_strands, record_at


def read_fasta(source: Source) -> Iterator[RNARecord]:
    """Read a FASTA file, compressed by gzip or not, one record at a time.

    The name is the first word of the header, or the number of the record, from 1, where there is none.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Yields
    ------
    RNARecord

    Raises
    ------
    DataError
        Names the file and line of a character that is no base, or of a sequence without a header.
    """
    return parse_fasta(Lines(source))


def parse_fasta(lines: Lines) -> Iterator[RNARecord]:
    start, name, told, count = 0, "", "", 0
    parts: list[str] = []
    for number, text in lines.filled():
        if text.startswith(">"):
            if count:
                yield record_at(lines, start, name, parts, told)
            start, count, parts = number, count + 1, []
            name, told = header_name(text, count), header_description(text)
        elif not count:
            raise lines.refuse(number, f"found {shown(text)}, expected a header '>name'")
        else:
            with lines.at(number):
                parts.append(clean_strands(text))
    if count:
        yield record_at(lines, start, name, parts, told)


def write_fasta(target: Source, records: Iterable[RNARecord], width: int = 60) -> None:
    """Write names and sequences, compressed by gzip where the path ends in ``.gz``; structures are left out.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    records : iterable of RNARecord
    width : int
        Bases a line.
    """
    save(target, "".join(_lines_of(record, width) for record in records))


def _lines_of(record: RNARecord, width: int) -> str:
    starts = range(0, len(record.sequence), width)
    return "\n".join([f">{record.header}", *(record.sequence[k : k + width] for k in starts), ""])
