"""Sequences alone, a line each or below a header: what other programs read from a pipe."""

from __future__ import annotations

from collections.abc import Iterator

from structune.files.text import Lines, header_description, header_name, shown
from structune.rna.formats.dot_bracket import STRUCTURE
from structune.rna.formats.record import RNARecord, clean_strands, record_at


def parse_plain(lines: Lines) -> Iterator[RNARecord]:
    """Each sequence as soon as it is known to be whole.

    One without a header is a line, and is named by its number, from 1. Below a header ``>name`` it may take
    several lines, up to the next header or to a structure. Structures and lines that start with ``#`` are
    passed over.
    """
    name, told, count, start, parts = "", "", 0, 0, list[str]()
    for number, text in lines.filled():
        if text.startswith("#") or (text == ">structure" and parts):  # as CONTRAfold writes
            continue
        if (header := text.startswith(">")) or STRUCTURE.search(text):
            if not header and not (parts or count):
                raise lines.refuse(number, f"found the structure {shown(text)}, expected a sequence first")
            if name:
                yield record_at(lines, start, name, parts, told)
            told = header_description(text) if header else ""
            name, count = (header_name(text, count + 1), count + 1) if header else ("", count)
            start, parts = number, []
        elif name:
            with lines.at(number):
                parts.append(clean_strands(text))
        else:
            count += 1
            yield record_at(lines, number, str(count), [text])
    if name:
        yield record_at(lines, start, name, parts, told)
