"""Alignments of RNA sequences, such as those of Rfam: as single sequences, or whole for a consensus."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from structune.errors import DataError
from structune.files.provenance import made_by
from structune.files.text import Source, distinct, one_word, plural, shown
from structune.rna.formats.sequences import BASES, GAPS, RNALines, RNARecord, bases_of_line

_TO_GAP = str.maketrans(GAPS, "----")
_UNPAIRED = ".,:_-~"
_OPENED_BY = dict(zip("<({[>)}]", 2 * "<({[", strict=True))  # itself, or the bracket that it closes
_LOOKS = {"Stockholm", "Clustal", "FASTA", "aligned FASTA", "A2M"}  # names of `looks_like` that are aligned
_ADVICE = "alignments are read from Stockholm, Clustal and aligned FASTA"
_BY_COLUMN = ("#=GC", "#=GR")
_CONSENSUS = "#=GC SS_cons"
_Pieces = dict[int, str]  # of a row, where the alignment is cut into blocks, by the numbers of their lines


def parse_stockholm(lines: RNALines) -> Iterator[RNARecord]:
    return (record for block in _blocks(lines) for record in _records(lines, block))


@dataclass
class _Block:
    """The lines of one alignment: the pieces of each row, by name, and all annotation by its first words."""

    number: int  # of its first line
    rows: dict[str, _Pieces] = field(default_factory=dict)
    annotation: dict[str, _Pieces] = field(default_factory=dict)
    no_rna: dict[str, DataError] = field(default_factory=dict)  # of rows with letters of modified bases

    def sequence(self, lines: RNALines, name: str) -> str:
        """The row of a sequence, with its gaps."""
        row = "".join(self.rows[name].values())
        return lines.standard(row, self.no_rna[name]) if name in self.no_rna else row


def _blocks(lines: RNALines, keep_all: bool = False) -> Iterator[_Block]:
    """The alignments of a file, with structures, or with all annotation."""
    block, number = None, 0
    for number, text in lines.filled():
        if block is None:
            if not text.startswith("# STOCKHOLM"):
                raise lines.refuse(number, f"expected the line '# STOCKHOLM 1.0' here, not {shown(text)}")
            block = _Block(number)
            continue
        n_words = {"#=GF": 2, "#=GC": 2, "#=GS": 3, "#=GR": 3}.get(text[:4], 0)
        words = text.split(maxsplit=n_words or 2)
        if text == "//":
            _check(lines, block)
            yield block
            block = None
        elif n_words:
            if len(words) <= n_words:
                continue
            label, piece = " ".join(words[:n_words]), words[-1]
            if not (keep_all or label == _CONSENSUS or (text.startswith("#=GR") and words[2] == "SS")):
                lines.counts["layers"] += label.startswith(f"{_CONSENSUS}_")
                continue
            if label[:4] in _BY_COLUMN and len(piece.split()) > 1:
                raise lines.refuse(number, f"{shown(text)}: annotation of columns must not contain spaces")
            block.annotation.setdefault(label, {})[number] = piece
        elif len(words) == 2 and not text.startswith("#"):
            name, piece = words
            bases, no_rna = lines.bases(number, piece, BASES + GAPS)
            block.rows.setdefault(name, {})[number] = bases
            if no_rna:
                block.no_rna.setdefault(name, no_rna)
        elif not text.startswith("#"):
            raise lines.refuse(number, f"{shown(text)} is not a name and its aligned sequence")
    if block is not None:
        raise lines.refuse(number, "the last line '//' is missing")


def _check(lines: RNALines, block: _Block) -> None:
    """Refuse rows, and annotation of columns, that are not all of one length or have no sequence."""
    of_columns = {label: row for label, row in block.annotation.items() if label[:4] in _BY_COLUMN}
    for label, row in of_columns.items():
        if label.startswith("#=GR") and (name := label.split()[1]) not in block.rows:
            raise lines.refuse(min(row), f"{shown(name)} has annotation, but no sequence")
    every = [*block.rows.values(), *of_columns.values()]
    for row in every:
        if (n := len("".join(row.values()))) != (expected := len("".join(every[0].values()))):
            as_in = f"but the row in line {min(every[0])} has {expected:,}"
            raise lines.refuse(min(row), f"the row has {plural(n, 'column')}, {as_in}")


def _records(lines: RNALines, block: _Block) -> Iterator[RNARecord]:
    own = {name: f"#=GR {name} SS" for name in block.rows}
    of_all = block.annotation.get(_CONSENSUS)
    consensus = _pairs(lines, of_all) if of_all else None
    for name, row in block.rows.items():
        given = block.annotation.get(own[name])
        pairs, sequence = _pairs(lines, given) if given else consensus, block.sequence(lines, name)
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


def _pairs(lines: RNALines, row: _Pieces) -> list[tuple[int, int, str]]:
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
    annotation : mapping of str to tuple of str
        Other annotation of a Stockholm file: texts by label, such as ``#=GF AU`` or ``#=GR name SS``. It is
        ignored when alignments are compared.
    """

    name: str
    names: tuple[str, ...]
    rows: tuple[str, ...]
    structure: str | None = None
    annotation: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)


def read_alignments(source: Source) -> Iterator[RNAAlignment]:
    """Read the alignments of a Stockholm, Clustal or FASTA file, compressed or not.

    Parameters
    ----------
    source : path or file object, binary or text

    Raises
    ------
    DataError
        The file has no alignment, rows differ in length, or a character is not a base. The message names the
        file and the line or alignment.
    """
    lines = RNALines(source, strip=False)
    with lines.told_by_look(_LOOKS, _ADVICE):
        first = next((text for text in lines.head(1000) if text.strip()), "").strip()
        if not first:
            raise DataError(f"{lines.name}: the file is empty, expected an alignment")
        if first.startswith("# STOCKHOLM"):
            lines.strip()
            yield from (_alignment(lines, block, k) for k, block in enumerate(_blocks(lines, True), 1))
        else:
            yield _of_biopython(lines, "fasta" if first[0] == ">" else "clustal")
    lines.tell()


def _alignment(lines: RNALines, block: _Block, count: int) -> RNAAlignment:
    annotation = {label: tuple(pieces.values()) for label, pieces in block.annotation.items()}
    name = one_word(annotation.pop("#=GF ID", (str(count),))[0])
    if not block.rows:
        raise lines.refuse(block.number, f"alignment {shown(name)} has no sequences")
    rows = tuple(block.sequence(lines, each).translate(_TO_GAP) for each in block.rows)
    structure = "".join(annotation.pop(_CONSENSUS, ())) or None
    annotation |= {x: ("".join(texts),) for x, texts in annotation.items() if x[:4] in _BY_COLUMN}
    return RNAAlignment(name, tuple(block.rows), rows, structure, annotation)


def _of_biopython(lines: RNALines, format: str) -> RNAAlignment:
    """The alignment of a Clustal or FASTA file."""
    from Bio import AlignIO  # slow to import

    marks = format == "clustal"  # below the blocks, of which editors may have cut off blanks
    text = "".join(line for _, line in lines if not (marks and line[:1].isspace() and line.strip()))
    if not (text := text.strip() + "\n").strip():
        raise DataError(f"{lines.name}: the file has no alignment")
    try:
        if marks and text.count("\n") == 1:  # Biopython reads on without end
            raise ValueError("a single line")
        found = AlignIO.read(io.StringIO(text), format)
    except (ValueError, AssertionError) as error:
        message = f"not an alignment in {format.capitalize()} format ({error})"
        raise DataError(f"{lines.name}: {message}") from None
    told, rows = f"{lines.name}: alignment '1':", []
    for record in found:
        try:
            bases, no_rna = bases_of_line(str(record.seq).translate(_TO_GAP), f"{BASES}-")
            rows.append(lines.standard(bases, no_rna))
        except DataError as error:
            raise DataError(f"{told} row {shown(record.id)}: {error}") from None
    if all(re.fullmatch(r"([^-]+)-+", row) and row.count("-") * 2 == len(row) for row in rows):
        what = "each sequence is followed by unpaired bases, as in dot-bracket"
        raise DataError(f"{told} {what}; expected aligned sequences")
    return RNAAlignment("1", tuple(one_word(record.id) for record in found), tuple(rows))


def stockholm_text(alignment: RNAAlignment, structure: str, model: str = "") -> str:
    """An alignment with a consensus structure, as Stockholm has it, where no name may be there twice."""
    made = made_by(model)
    given = [(label, text) for label, texts in alignment.annotation.items() for text in texts]
    lines = ["# STOCKHOLM 1.0", f"#=GF ID {alignment.name}", f"#=GF CC {made}"]
    for label, text in given:
        if label[:4] not in _BY_COLUMN and not (label == "#=GF CC" and text.startswith(made.split()[0])):
            lines.append(f"{label} {text}")
    body = list[tuple[str, str]]()
    for name, row in zip(distinct(alignment.names), alignment.rows, strict=True):
        body += [(name, row), *(each for each in given if each[0].startswith(f"#=GR {name} "))]
    body += [each for each in given if each[0].startswith("#=GC")] + [(_CONSENSUS, structure)]
    width = max(len(label) for label, _ in body)
    lines += [f"{label:<{width}} {text}" for label, text in body]
    return "\n".join([*lines, "//", ""]).encode(errors="replace").decode()
