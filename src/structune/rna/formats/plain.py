"""Sequences alone, a line each or below a header, and perhaps their structures: what is folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from structune.files.text import Lines, header_description, header_name, shown
from structune.rna.formats.dot_bracket import STRUCTURE, Entry, is_comment
from structune.rna.formats.record import RNARecord


def parse_plain(
    lines: Lines, live: bool = False, unused: Callable[[], None] | None = None
) -> Iterator[RNARecord]:
    """Sequences, with their structures where there are some; `live` gives each as soon as it is whole.

    One without a header is a line, and is named by its number, from 1. Below a header ``>name`` it may take
    several lines, up to the next header or the end of its structure. Structures may be left out, and are
    checked where there are some; `unused` is called for each that its sequence was given without.
    """
    entry, count, paired, with_headers = Entry(lines), 0, False, False
    for number, text in lines.filled():
        if is_comment(text, entry):
            continue
        if (header := text.startswith(">")) or entry.ends_before(text):
            yield from entry.rest()
            _check_alike(entry, paired)
            with_headers = with_headers or header
            if with_headers and not header and not STRUCTURE.search(text):
                found = f"found {shown(text)} after a structure"
                raise lines.refuse(number, f"{found}, expected a header '>name'")
            count += 1
            told = text if header else ">"
            entry = Entry(lines, number, header_name(told, count), header_description(told), header)
        if not header:
            entry.add(number, text)
        if entry.is_complete():
            if entry.is_given and unused is not None:
                unused()
            yield from entry.rest()
            paired = paired or not entry.has_header
            entry = Entry(lines)
        elif live and not (entry.has_header or entry.structure):
            yield from entry.rest()
    yield from entry.rest()
    _check_alike(entry, paired)


def _check_alike(entry: Entry, paired: bool) -> None:
    """Without headers all sequences have structures or none has: other lines of letters may be no bases."""
    if paired and not entry.has_header and entry.awaits_structure():
        raise entry.lines.refuse(
            entry.number, f"record {shown(entry.name)}: found no structure below it, as others have one"
        )
