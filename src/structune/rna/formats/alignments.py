"""Alignments of RNA sequences, such as those of Rfam: as single sequences, or whole for a consensus."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from structune.errors import DataError
from structune.files.provenance import made_by
from structune.files.text import Lines, Source, distinct, one_word, plural, shown
from structune.rna.formats.sequences import BASES, GAPS, RNARecord, clean_sequence

_TO_GAP = str.maketrans(GAPS, "----")
_UNPAIRED = ".,:_-~"
_OPENED_BY = dict(zip("<({[>)}]", 2 * "<({[", strict=True))  # itself, or the bracket that it closes
_LOOKS = {"Stockholm", "Clustal", "FASTA", "aligned FASTA", "A2M"}  # names of `looks_like` that are aligned
_ADVICE = "alignments are read from Stockholm, Clustal and aligned FASTA"
_BLOCK = re.compile(r"^//\s*$", re.MULTILINE)
_NAME = re.compile(r"^#=GF\s+ID\s+(\S.*)", re.MULTILINE)
_Pieces = dict[int, str]  # of a row, where the alignment is cut into blocks, by the numbers of their lines


def read_stockholm(source: Source) -> Iterator[RNARecord]:
    """Read the records of Stockholm alignments, compressed or not, one alignment at a time.

    Gaps are removed from the sequences. The structure of a sequence is read from its line ``#=GR name SS`` or
    else from the consensus, ``#=GC SS_cons``, without pairs that have a gap on one side; it is None if there
    is neither. All nested brackets of the WUSS notation become ``()``; pseudoknots remain letters.

    Parameters
    ----------
    source : path or file object, binary or text

    Raises
    ------
    DataError
        A base or structure is invalid, rows differ in length, or the first or last line is missing. The error
        names file and line.
    """
    return parse_stockholm(Lines(source))


def parse_stockholm(lines: Lines) -> Iterator[RNARecord]:
    rows, number = None, 0  # sequences, their structures, and that of all: the pieces of each, by name
    for number, text in lines.filled():
        if rows is None:
            if not text.startswith("# STOCKHOLM"):
                raise lines.refuse(number, f"expected the line '# STOCKHOLM 1.0' here, not {shown(text)}")
            rows = dict[str, _Pieces](), dict[str, _Pieces](), dict[str, _Pieces]()
            continue
        match text.split():
            case _ if text == "//":
                yield from _records(lines, *rows)
                rows = None
                continue
            case ["#=GC", "SS_cons", piece]:
                kind, name = 2, ""
            case ["#=GR", name, "SS", piece]:
                kind = 1
            case ["#=GC", "SS_cons", *_] | ["#=GR", _, "SS", *_]:
                raise lines.refuse(number, f"{shown(text)}: a structure must not contain spaces")
            case _ if text.startswith("#"):
                continue
            case [name, piece]:
                kind = 0
                with lines.at(number):
                    clean_sequence(piece, BASES + GAPS)
            case _:
                raise lines.refuse(number, f"{shown(text)} is not a name and its aligned sequence")
        rows[kind].setdefault(name, {})[number] = piece
    if rows is not None:
        raise lines.refuse(number, "the last line '//' is missing")


def _records(
    lines: Lines, rows: dict[str, _Pieces], own: dict[str, _Pieces], of_all: dict[str, _Pieces]
) -> Iterator[RNARecord]:
    for name, row in own.items():
        if name not in rows:
            raise lines.refuse(min(row), f"{shown(name)} has a structure, but no sequence")
    every = [*rows.values(), *own.values(), *of_all.values()]
    for row in every:
        if (n := len("".join(row.values()))) != (expected := len("".join(every[0].values()))):
            as_in = f"but the row in line {min(every[0])} has {expected:,}"
            raise lines.refuse(min(row), f"the row has {plural(n, 'column')}, {as_in}")
    consensus = _pairs(lines, of_all[""]) if of_all else None
    for name, row in rows.items():
        pairs, sequence = _pairs(lines, own[name]) if name in own else consensus, "".join(row.values())
        kept = {k: base for k, base in enumerate(sequence) if base not in GAPS}
        text = ["."] * len(sequence)
        # A pair with a gap on one side is none of this sequence.
        for i, j, opening in pairs or ():
            if i in kept and j in kept:
                text[i], text[j] = (opening, opening.lower()) if opening.isupper() else ("(", ")")
        structure = None if pairs is None else "".join(text[k] for k in kept)
        with lines.at(min(row)):
            record = RNARecord(name, "".join(kept.values()), structure)
        yield record


def _pairs(lines: Lines, row: _Pieces) -> list[tuple[int, int, str]]:
    """The pairs of columns of a structure in WUSS notation, with the opening character."""
    places = [(number, k) for number, piece in row.items() for k in range(1, len(piece) + 1)]

    def refuse(column: int, message: str) -> DataError:
        number, k = places[column]
        return lines.refuse(number, f"column {k} (from 1): {message}")

    pairs = []
    stacks: dict[str, list[tuple[int, str]]] = {}  # brackets share one: pairs of different kinds must nest
    for column, character in enumerate("".join(row.values())):
        # WUSS: <>, (), [] and {} are all nested pairs, and letters, AA to ZZ, are pseudoknots.
        is_letter = character.isascii() and character.isalpha()
        opening = character.upper() if is_letter else _OPENED_BY.get(character, "")
        stack = stacks.setdefault(opening if is_letter else "nested", [])
        if opening and character == opening:
            stack.append((column, opening))
        elif opening and stack and stack[-1][1] == opening:
            pairs.append((stack.pop()[0], column, opening))
        elif opening:
            raise refuse(column, f"{character!r} has no matching {opening!r}")
        elif character not in _UNPAIRED:
            raise refuse(column, f"{character!r} is not a character of the WUSS notation")
    if unmatched := [stack[-1] for stack in stacks.values() if stack]:
        column, opening = min(unmatched)
        raise refuse(column, f"{opening!r} has no closing character")
    return pairs


# --- whole alignments --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RNAAlignment:
    """An alignment of RNA sequences.

    Attributes
    ----------
    name : str
        Name of the alignment.
    names : tuple of str
        Names of the sequences.
    rows : tuple of str
        Aligned sequences, all of one length: ACGU and other IUPAC letters, ``-`` for gaps.
    structure : str, optional
        Consensus structure as in the file (WUSS notation).
    """

    name: str
    names: tuple[str, ...]
    rows: tuple[str, ...]
    structure: str | None = None


def read_alignments(source: Source) -> Iterator[RNAAlignment]:
    """Read the alignments of a Stockholm, Clustal or FASTA file, compressed or not.

    Parameters
    ----------
    source : path or file object, binary or text

    Raises
    ------
    DataError
        The file has no alignment, rows differ in length, or a character is not a base. The message names the
        file and the alignment.
    """
    from Bio import AlignIO  # slow to import

    lines = Lines(source, strip=False)
    with lines.told_by_look(_LOOKS, _ADVICE):
        first = next((text for text in lines.head(1000) if text.strip()), "").strip()
        if not first:
            raise DataError(f"{lines.name}: the file is empty, expected an alignment")
        format = "stockholm" if first.startswith("# STOCKHOLM") else "fasta" if first[0] == ">" else "clustal"
        marks = format == "clustal"  # below the blocks, of which editors may have cut off blanks
        text = "".join(line for _, line in lines if not (marks and line[:1].isspace() and line.strip()))
        text = text.strip() + "\n"
        blocks = [*filter(str.strip, _BLOCK.split(text) if format == "stockholm" else [text])]
        if not blocks:
            raise DataError(f"{lines.name}: the file has no alignment")
        for k, block in enumerate(blocks):
            name = one_word(match[1]) if (match := _NAME.search(block)) else str(k + 1)
            told = f"{lines.name}: alignment {shown(name)}:"
            try:
                if marks and block.count("\n") == 1:  # Biopython reads on without end
                    raise ValueError("a single line")
                whole = f"{block.lstrip()}\n//\n" if format == "stockholm" else block
                found = AlignIO.read(io.StringIO(whole), format)
            except (ValueError, AssertionError) as error:
                message = f"not an alignment in {format.capitalize()} format ({error})"
                raise DataError(f"{lines.name}: {message}") from None
            rows = []
            for record in found:
                try:
                    rows.append(clean_sequence(str(record.seq).translate(_TO_GAP), f"{BASES}-"))
                except DataError as error:
                    raise DataError(f"{told} row {shown(record.id)}: {error}") from None
            if all(re.fullmatch(r"([^-]+)-+", row) and row.count("-") * 2 == len(row) for row in rows):
                what = "each sequence is followed by unpaired bases, as in dot-bracket"
                raise DataError(f"{told} {what}; expected aligned sequences")
            names = tuple(one_word(record.id) for record in found)
            structure = found.column_annotations.get("secondary_structure")
            yield RNAAlignment(name, names, tuple(rows), structure)


def stockholm_text(alignment: RNAAlignment, structure: str, model: str = "") -> str:
    """An alignment with a consensus structure, as Stockholm has it, where no name may be there twice."""
    names = [*distinct(alignment.names), "#=GC SS_cons"]
    width = max(map(len, names))
    lines = [f"{name:<{width}} {row}" for name, row in zip(names, [*alignment.rows, structure], strict=True)]
    head = ["# STOCKHOLM 1.0", f"#=GF ID {alignment.name}", f"#=GF CC {made_by(model)}"]
    return "\n".join([*head, *lines, "//", ""])
