"""BPSEQ files: one structure, a line ``index base partner`` for each base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structune.errors import DataError
from structune.files.text import Lines, Source, save, shown
from structune.rna.formats.pair_table import PairTable, file_stem, is_label, label_name
from structune.rna.formats.record import RNARecord, need_table


def read_bpseq(source: Source) -> list[RNARecord]:
    """Read a BPSEQ file, compressed by gzip or not.

    Above the bases there may be comments that start with ``#`` and lines such as ``Organism: ...``. The name
    is that of a line ``#Name: ...`` or ``Filename: ...``, or else the file's without its ending.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Returns
    -------
    list of RNARecord
        One record, or none if the file has neither a base nor a name.

    Raises
    ------
    DataError
        Names the file and line of an index out of turn, of what is no base, and of a pair that is not mutual.
    """
    return list(parse_bpseq(Lines(source)))


def parse_bpseq(lines: Lines) -> Iterator[RNARecord]:
    table, name, name_number = PairTable(lines), "", 1
    for number, text in lines.filled():
        if text.startswith("#") or (not len(table) and is_label(text)):
            if found := label_name(text):
                name, name_number = found, number
            continue
        if len(words := text.split()) != 3:
            raise lines.refuse(number, f"found {shown(text)}, expected three columns: index, base, partner")
        table.add(number, *words)
    if name or len(table):
        yield table.record(name_number, name or file_stem(lines))


def write_bpseq(target: Source, records: Iterable[RNARecord]) -> None:
    """Write one record, compressed by gzip where the path ends in ``.gz``.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    records : iterable of RNARecord
        Of one record.

    Raises
    ------
    DataError
        Another number of records, or one without a structure.
    """
    given = list(records)
    if len(given) != 1:
        raise DataError(f"found {len(given)} records, expected 1: a BPSEQ file holds one structure")
    record = given[0]
    found = need_table(record)
    rows = [f"{i} {base} {j}\n" for i, (base, j) in enumerate(zip(record.sequence, found, strict=True), 1)]
    save(target, "".join([f"#Name: {record.name}\n", *rows]))
