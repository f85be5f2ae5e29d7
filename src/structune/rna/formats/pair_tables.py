"""CT and BPSEQ files: one base per line, with its index and that of its partner."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from structune.errors import DataError
from structune.files.text import Source, one_word, plural, save, shown, without_compression
from structune.rna.formats.brackets import STRANDS, cut_as, partners, to_dot_bracket
from structune.rna.formats.sequences import (
    MODIFIED,
    RNALines,
    RNARecord,
    clean_sequence,
    label_name,
    need_structure,
    without_energy,
)

_HEADER = re.compile(r"(\d{1,9})(?:\s+(.*))?")
_BASE = re.compile(r"[A-Za-z](\s+\d+){3}")
_EVIDENCE = re.compile(r"[et]([1-9]\d?)")
LEAST_EVIDENCE = 1e-5  # less than that stands for none
OF_RIBOSWITCH = re.compile(r"k\d\S*\s+\S+\s+\S+")  # binding constants, and a column for each state below


def parse_ct(lines: RNALines) -> Iterator[RNARecord]:
    rows = ((number, text) for number, text in lines.filled() if not text.startswith("#"))
    count, label = 0, ""
    for number, text in rows:
        if is_label(text):
            label = label_name(text) or label
            continue
        match = _HEADER.fullmatch(text)
        if match is None or _BASE.match(match[2] or ""):
            expected = "is not a header with the number of bases and a name"
            raise lines.refuse(number, f"{shown(text)} {expected}")
        size, name = int(match[1]), one_word(without_energy(match[2] or ""))
        count += 1
        # Rows are taken from the same stream as headers: as many as the header says.
        table, around = _PairTable(lines), list[tuple[int, int]]()
        for row, base in islice(rows, size):
            if len(words := base.split()) < 5:
                expected = "expected 6: index, base, before, after, partner, index"
                raise lines.refuse(row, f"the line has {plural(len(words), 'column')}, {expected}")
            around.append((_whole(lines, row, words[2]), _whole(lines, row, words[3])))
            table.add(row, words[0], words[1], words[4])
        if len(around) < size:
            told = f"the file ends after {plural(len(around), 'base')}, but the header says {size:,}"
            raise lines.refuse(number, told)
        # Strands end where no base is after one, nor before the next; but some files have zeros everywhere.
        links = [(after, before) for (_, after), (before, _) in pairwise(around)]
        ends = [k for k, link in enumerate(links, 1) if link == (0, 0)]
        is_whole = all(link in ((0, 0), (k + 1, k)) for k, link in enumerate(links, 1))
        if not is_whole or len(ends) == len(links):
            ends = []
        yield table.record(number, name or label or str(count), ends)
        label = ""


def write_ct(target: Source, records: Iterable[RNARecord]) -> None:
    """Write structures as CT; the bases of two strands are counted through."""
    texts = []
    for record in records:
        rows, n = _bases_and_partners(record), record.n_bases
        texts.append(f"{n} {record.name}\n")
        texts += [f"{i} {base} {i - 1} {(i + 1) % (n + 1)} {j} {i}\n" for i, (base, j) in rows]
    save(target, "".join(texts))


def parse_bpseq(lines: RNALines) -> Iterator[RNARecord]:
    table, name, name_number, kind, unknown = _PairTable(lines), "", 1, "", list[int]()
    for number, text in lines.filled():
        if text.startswith("#") or (not table.rows and is_label(text)):
            if found := label_name(text):
                name, name_number = found, number
            continue
        words = text.split()
        if not table.rows:
            if OF_RIBOSWITCH.fullmatch(text):
                told = "this is a riboswitch of EternaFold, with binding constants and constraints"
                raise lines.refuse(number, f"{told}. structune cannot use it; convert a structure to BPSEQ")
            kind = words[2] if len(words) > 2 and _EVIDENCE.fullmatch(words[2]) else ""
        if kind:
            words = _without_evidence(lines, number, words, kind)
        if len(words) != 3:
            raise lines.refuse(number, f"{shown(text)} is not three columns: index, base, partner")
        if words[2] == "-1":
            unknown.append(number)
        table.add(number, words[0], words[1], "0" if words[2] == "-1" else words[2])
    if 0 < len(unknown) < len(table.rows):
        told = "the partner is unknown (-1), but not those of all bases. Write 0 for unpaired bases"
        raise lines.refuse(unknown[0], f"{told}, or -1 for all bases of a sequence without structure")
    if name or table.rows:
        has_no_name = lines.name.startswith("<")  # standard input
        stem = "1" if has_no_name else one_word(Path(without_compression(lines.name)).stem)
        record = table.record(name_number, name or stem)
        yield replace(record, structure=None) if unknown or kind.startswith("e") else record


def _without_evidence(lines: RNALines, number: int, words: list[str], kind: str) -> list[str]:
    """The index, base and partner of a row that also has values of probing."""
    n, is_paired = int(kind[1:]), kind.startswith("t")
    if words[2:3] != [kind] or len(words) != 3 + n + is_paired:
        columns = f"an index, a base, {kind}, {plural(n, 'value')}{' and a partner' * is_paired}"
        raise lines.refuse(number, f"{shown(' '.join(words))} is not {columns}")
    try:
        values = [float(word) for word in words[3 : 3 + n]]
    except ValueError:
        raise lines.refuse(number, f"{shown(' '.join(words))}: a value is not a number") from None
    lines.counts["evidence"] += max(values) >= LEAST_EVIDENCE
    return [*words[:2], words[-1] if is_paired else "0"]


def write_bpseq(target: Source, records: Iterable[RNARecord]) -> None:
    """Write one structure as BPSEQ."""
    given = list(records)
    if len(given) != 1:
        raise DataError(f"a BPSEQ file holds one structure, but there are {plural(len(given), 'record')}")
    rows = [f"{i} {base} {j}\n" for i, (base, j) in _bases_and_partners(given[0])]
    save(target, "".join([f"#Name: {given[0].name}\n", *rows]))


class _PairTable:
    """The bases of one structure, checked as they come."""

    def __init__(self, lines: RNALines) -> None:
        self._lines, self.rows = lines, list[tuple[int, str, int]]()  # line, base, partner from 1 or 0

    def add(self, number: int, index: str, base: str, partner: str) -> None:
        if _whole(self._lines, number, index) != (expected := len(self.rows) + 1):
            raise self._lines.refuse(number, f"the index is {index}, expected {expected}")
        if len(base) != 1:
            raise self._lines.refuse(number, f"the base {shown(base)} is not one letter")
        with self._lines.at(number):
            letter = clean_sequence(self._lines.standard(base) if base.upper() in MODIFIED else base)
        self.rows.append((number, letter, _whole(self._lines, number, partner)))

    def record(self, number: int, name: str, ends: Collection[int] = ()) -> RNARecord:
        """The record; `number` is the line that has its name, `ends` are last bases of strands."""
        n = len(self.rows)
        for i, (row, _, j) in enumerate(self.rows, 1):
            if j > n:
                raise self._lines.refuse(row, f"the partner {j} is not within 0 to {n}")
            if j == i:
                raise self._lines.refuse(row, f"base {i} is paired with itself")
            if j and (back := self.rows[j - 1])[2] != i:
                other = f"base {j} with {back[2]} in line {back[0]}"
                raise self._lines.refuse(row, f"base {i} is paired with {j}, but {other}")
        with self._lines.at(number):
            structure = to_dot_bracket(np.array([j - 1 for *_, j in self.rows], np.int64))
            sequence = "".join(base + STRANDS * (k in ends) for k, (_, base, _) in enumerate(self.rows, 1))
            return RNARecord(name, sequence, cut_as(sequence, structure))


def _bases_and_partners(record: RNARecord) -> Iterator[tuple[int, tuple[str, int]]]:
    """The number of each base from 1, its letter, and its partner, 0 for none."""
    if STRANDS in record.sequence:
        raise DataError(f"record {shown(record.name)}: CT and BPSEQ files cannot hold two strands")
    found = (partners(need_structure(record)) + 1).tolist()
    return enumerate(zip(record.sequence, found, strict=True), 1)


def _whole(lines: RNALines, number: int, word: str) -> int:
    """A number of at most nine digits."""
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise lines.refuse(number, f"{shown(word)} is not a whole number of at least 0")
    return int(word)


def is_label(text: str) -> bool:
    """Whether a line is a comment, or one like ``Organism: ...`` above the bases."""
    return text.startswith("#") or (":" in text and not text[0].isdigit())
