"""CT and BPSEQ files: a base a line, with its index and its partner's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from structune.errors import DataError
from structune.files.text import Lines, Source, one_word, save, shown
from structune.rna.formats.brackets import STRANDS, cut_as, to_dot_bracket
from structune.rna.formats.record import RNARecord, clean_sequence, need_table

_LABEL = re.compile(r"#?\s*(?:name\s*:|(file)(?:name)?\b\s*:?)\s*(\S.*)", re.IGNORECASE)
_ENDING = re.compile(r"\.(bpseq|ct|nopct)$", re.IGNORECASE)


class PairTable:
    """The bases of one structure, checked as they come."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._numbers: list[int] = []
        self._bases: list[str] = []
        self._partners: list[int] = []

    def __len__(self) -> int:
        return len(self._bases)

    def add(self, number: int, index: str, base: str, partner: str) -> None:
        """The next base, from line `number`; the partner is counted from 1, 0 for none."""
        if whole(self._lines, number, index) != len(self) + 1:
            raise self._lines.refuse(number, f"found the index {index}, expected {len(self) + 1}")
        if len(base) != 1:
            raise self._lines.refuse(number, f"found the base {shown(base)}, expected one letter")
        with self._lines.at(number):
            self._bases.append(clean_sequence(base))
        self._partners.append(whole(self._lines, number, partner))
        self._numbers.append(number)

    def record(self, number: int, name: str, ends: Collection[int] = ()) -> RNARecord:
        """The record; `number` is the line that has its name, `ends` are last bases of strands."""
        for i, j in enumerate(self._partners, 1):
            self._check_pair(i, j)
        with self._lines.at(number):
            structure = to_dot_bracket(np.array(self._partners, np.int64) - 1)
            sequence = "".join(base + STRANDS * (k in ends) for k, base in enumerate(self._bases, 1))
            return RNARecord(name, sequence, cut_as(sequence, structure))

    def _check_pair(self, i: int, j: int) -> None:
        if j == 0:
            return
        number = self._numbers[i - 1]
        if j > len(self):
            raise self._lines.refuse(number, f"found the partner {j}, expected 0 to {len(self)}")
        if j == i:
            raise self._lines.refuse(number, f"found base {i} paired with itself")
        if self._partners[j - 1] != i:
            raise self._lines.refuse(
                number,
                f"found base {i} paired with {j}, but base {j} with {self._partners[j - 1]} "
                f"in line {self._numbers[j - 1]}",
            )


def whole(lines: Lines, number: int, word: str) -> int:
    """A number of at most nine digits."""
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise lines.refuse(number, f"found {shown(word)}, expected a number from 0")
    return int(word)


def is_label(text: str) -> bool:
    """Whether a line is a comment, or one like ``Organism: ...`` above the bases."""
    return text.startswith("#") or (":" in text and not text[0].isdigit())


def label_name(text: str) -> str:
    """The name in a line like ``Filename: d.5.e.bpseq`` or ``#Name: d.5.e``; empty where there is none."""
    if not (match := _LABEL.match(text)):
        return ""
    return one_word(_ENDING.sub("", match[2]) if match[1] else match[2])


def file_stem(lines: Lines) -> str:
    """Name of the file without its ending; ``1`` for a source without a name."""
    if lines.name.startswith("<"):
        return "1"
    return one_word(Path(lines.name.removesuffix(".gz")).stem)


_CT_HEADER = re.compile(r"(\d{1,9})(?:\s+(.*))?")
# The space beside '=' tells an energy from a name of one word.
_CT_ENERGY = re.compile(
    r"(?:ENERGY|dG|dE)(?:\s+=\s*|=\s+)[-+]?[\d.]+(?:\s*\[[^]]*\])?(?:\s+|$)", re.IGNORECASE
)
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
        size, name = _ct_header(lines, number, text)
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
    save(target, "".join(_ct_lines(record) for record in records))


def _ct_header(lines: Lines, number: int, text: str) -> tuple[int, str]:
    match = _CT_HEADER.fullmatch(text)
    if match is None or _BASE.match(match[2] or ""):
        raise lines.refuse(number, f"found {shown(text)}, expected {HEADER}")
    return int(match[1]), one_word(_CT_ENERGY.sub("", match[2] or "", count=1))


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


def _ct_lines(record: RNARecord) -> str:
    found = need_table(record)
    n = len(found)
    rows = [
        f"{i} {base} {i - 1} {(i + 1) % (n + 1)} {j} {i}\n"
        for i, (base, j) in enumerate(zip(record.sequence, found, strict=True), 1)
    ]
    return "".join([f"{n} {record.name}\n", *rows])


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
