"""CT (connectivity table) files: for each structure a header ``N name``, then a line for each base."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from structune.files.text import Lines, Source, one_word, save, shown
from structune.rna.formats.pair_table import PairTable, is_label, label_name, whole
from structune.rna.formats.record import RNARecord, need_table

_HEADER = re.compile(r"(\d{1,9})(?:\s+(.*))?")
# The space beside '=' tells an energy from a name of one word.
_ENERGY = re.compile(r"(?:ENERGY|dG|dE)(?:\s+=\s*|=\s+)[-+]?[\d.]+(?:\s*\[[^]]*\])?(?:\s+|$)", re.IGNORECASE)
_BASE = re.compile(r"[A-Za-z](\s+\d+){3}")

HEADER = "a header: the number of bases and a name"


def read_ct(source: Source) -> list[RNARecord]:
    """Read a CT file, compressed by gzip or not.

    The columns of a base are its index, the letter, the indices of the bases before and after it, its
    partner's index or 0, and possibly more. Where no base is after one, and none before the next, the second
    of two strands begins; what else is said of those before and after, and further columns, are not used.
    Energies in headers, ``ENERGY = -1.2`` or ``dG = -1.2``, are skipped, and the words of a name joined by
    ``_``. Structures without a name are named by a line ``Filename: ...`` or by their number, from 1.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Returns
    -------
    list of RNARecord

    Raises
    ------
    DataError
        Names the file and line of a wrong header, of too few or too many bases, of an index out of turn, of
        what is no base, and of a pair that is not mutual.
    """
    return list(parse_ct(Lines(source)))


def parse_ct(lines: Lines) -> Iterator[RNARecord]:
    rows = ((number, text) for number, text in lines.filled() if not text.startswith("#"))
    count, label = 0, ""
    for number, text in rows:
        if is_label(text):
            label = label_name(text) or label
            continue
        size, name = _header(lines, number, text)
        count += 1
        table, ends = _table(lines, islice(rows, size))
        if len(table) < size:
            raise lines.refuse(number, f"found the end of the file after {len(table)} bases, expected {size}")
        yield table.record(number, name or label or str(count), ends)
        label = ""


def write_ct(target: Source, records: Iterable[RNARecord]) -> None:
    """Write structures, one after the other, compressed by gzip where the path ends in ``.gz``.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    records : iterable of RNARecord

    Raises
    ------
    DataError
        A record without a structure.
    """
    save(target, "".join(_lines_of(record) for record in records))


def _header(lines: Lines, number: int, text: str) -> tuple[int, str]:
    match = _HEADER.fullmatch(text)
    if match is None or _BASE.match(match[2] or ""):
        raise lines.refuse(number, f"found {shown(text)}, expected {HEADER}")
    return int(match[1]), one_word(_ENERGY.sub("", match[2] or "", count=1))


def _table(lines: Lines, rows: Iterable[tuple[int, str]]) -> tuple[PairTable, list[int]]:
    """The bases, and those at ends of strands before the last."""
    table, around = PairTable(lines), list[tuple[int, int]]()
    for number, text in rows:
        words = text.split()
        if len(words) < 5:
            raise lines.refuse(
                number, f"found {len(words)} columns, expected 6: index, base, before, after, partner, index"
            )
        around.append((whole(lines, number, words[2]), whole(lines, number, words[3])))
        table.add(number, words[0], words[1], words[4])
    links = [(after, before) for (_, after), (before, _) in pairwise(around)]
    ends = [k for k, link in enumerate(links, 1) if link == (0, 0)]
    is_whole = all(link in ((0, 0), (k + 1, k)) for k, link in enumerate(links, 1))  # some files have zeros
    return table, ends if is_whole and len(ends) < len(links) else []


def _lines_of(record: RNARecord) -> str:
    found = need_table(record)
    n = len(found)
    rows = [
        f"{i} {base} {i - 1} {(i + 1) % (n + 1)} {j} {i}\n"
        for i, (base, j) in enumerate(zip(record.sequence, found, strict=True), 1)
    ]
    return "".join([f"{n} {record.name}\n", *rows])
