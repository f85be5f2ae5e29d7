"""Files of sequences and of alignments: FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP, MSF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from structune.alignment.structure.alphabets import look_like_nucleotides
from structune.alignment.structure.rows import GAPS
from structune.errors import DataError, warn
from structune.files.provenance import made_by
from structune.files.text import (
    Lines,
    Source,
    distinct,
    header_name,
    one_word,
    plural,
    save,
    shown,
    without_compression,
)

_HEAD = 100  # lines that may come before what tells the format
_FORMATS = "an alignment in FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP or MSF"
_LOWER, _OTHER = re.compile("[^a-z]"), re.compile("[a-z]")
_NO_SEQUENCES = (  # headers of what would be read as residues
    (
        re.compile(r">(?:P1|F1|D[LC]|R[LC]|N[13]|XX);(?!.*=)"),
        "is a header of PIR: convert the file to FASTA first",
    ),
    (re.compile(r">(?:ss|sa|aa)_(?:pred|conf|dssp)\b|>.*:secstr\b"), "is annotation of residues: remove it"),
)
_LOOKS = ("FASTA", "aligned FASTA", "A2M", "A3M", "PIR")  # names of `looks_like`, the last told by itself
_BRACKET = re.compile(r"[][(){}<]")  # of structures of RNA
# programs that write Clustal's format
_PROGRAMS = ("CLUSTAL", "MUSCLE", "PROBCONS", "MSAPROBS", "T-COFFEE", "KALIGN", "BIOPYTHON")
_CLUSTAL_MARKS = set("*:. ")
_PHYLIP = re.compile(r"([1-9]\d{0,8})\s+(\d{1,9})(\s+[A-Za-z]+)?")
_STRICT_NAME = 10  # characters, in PHYLIP
_MSF = re.compile(r".*MSF:\s*(\d{1,9})\b.*\.\.")
_MSF_END_GAPS = str.maketrans("~", ".")
_WIDTH = 60  # columns of a line that is written


class ProteinAlignment(NamedTuple):
    """An alignment: names, and rows of the same length with ``-`` or ``.`` for gaps."""

    names: list[str]
    rows: list[str]

    def pair(self, a: int, b: int) -> tuple[str, str]:
        """Return the rows of sequences `a` and `b` (0-based), without columns where both have gaps."""
        columns = zip(self.rows[a], self.rows[b], strict=True)
        kept = [(x, y) for x, y in columns if x not in GAPS or y not in GAPS]
        x, y = zip(*kept, strict=True) if kept else ((), ())
        return "".join(x), "".join(y)


class NamedProtein(NamedTuple):
    """A sequence of a FASTA file: name (first word of the header, or its number from 1), residues, header."""

    name: str
    residues: str
    header: str


# --- reading ----------------------------------------------------------------------------------------------


def read_proteins(source: Source) -> list[NamedProtein]:
    """Read the sequences of a FASTA file (also compressed); a ``*`` at the end of a sequence is dropped.

    Raises
    ------
    DataError
        A sequence has no header, or the file is not FASTA; the message gives file and line.
    """
    return [
        NamedProtein(header_name(header, number), residues.removesuffix("*"), header[1:].strip())
        for number, (_, header, residues) in enumerate(_fasta_records(Lines(source)), 1)
    ]


def read_protein_alignments(source: Source) -> Iterator[ProteinAlignment]:
    """Read the alignments of a file (also compressed); the format is detected from the first lines.

    A FASTA or MSF file holds one alignment, a Clustal, Stockholm or PHYLIP file any number. In A2M files,
    which are FASTA files, residues in lower case are unaligned, and ``.`` fills their columns in other rows.
    A3M files lack these ``.``; they are added. A FASTA file is A3M if its name ends in ``.a3m``, or if its
    rows differ in length but have the same number of columns without residues in lower case.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it stays open.

    Yields
    ------
    ProteinAlignment

    Raises
    ------
    DataError
        The text fits no format, a name has no row, or a row differs in length from the first. The message
        gives file and line.
    """
    lines = Lines(source)
    with lines.told_by_look((), "convert it first"):
        read = _reader(lines)
    return read(lines)


def is_alignment_file(path: Path) -> bool:
    try:
        return bool(_reader(Lines(path)))
    except DataError:
        return False


def _reader(lines: Lines) -> Callable[[Lines], Iterator[ProteinAlignment]]:
    first = next((text for text in lines.head(_HEAD) if text), "")
    if not first:
        raise DataError(f"{lines.name}: the file is empty. It should be {_FORMATS}")
    if first.startswith("# STOCKHOLM"):
        return _read_stockholm
    head = next((text for text in lines.head(_HEAD) if text and not text.startswith("#")), "")
    if head.startswith(">"):
        return _read_fasta
    if _is_clustal_header(head):
        return _read_clustal
    if _PHYLIP.fullmatch(head):
        return _read_phylip
    if any(map(_MSF.fullmatch, lines.head(_HEAD))):
        return _read_msf
    raise DataError(f"{lines.name}: the file begins with {shown(first)}. It should be {_FORMATS}")


class _Rows:
    """Collects rows by name, whole or in pieces, and checks that all have the same number of columns.

    That number is `n_columns`, or else that of the first row.
    """

    def __init__(self, lines: Lines, n_columns: int | None = None) -> None:
        self._lines, self._n_columns = lines, n_columns
        self._first: dict[str, int] = {}  # line of each name
        self.pieces: dict[str, list[str]] = {}
        self.block: set[str] = set()  # names that have been in this block

    def begin(self, number: int, name: str) -> None:
        """Begin the row of a name, which must be new."""
        if name in self.pieces:
            raise self._lines.refuse(
                number, f"the name {shown(name)} is already used in line {self._first[name]}"
            )
        self.pieces[name], self._first[name] = [], number

    def add_to_block(self, number: int, name: str, piece: str) -> None:
        """Add the next piece of a row; a block has one piece of each row."""
        if name in self.block:
            raise self._lines.refuse(number, f"the name {shown(name)} occurs twice in a block")
        self.block.add(name)
        if name not in self.pieces:
            self.begin(number, name)
        self.pieces[name].append(piece)

    def alignment(self) -> ProteinAlignment:
        rows = {name: "".join(pieces) for name, pieces in self.pieces.items()}
        first = len(next(iter(rows.values()), ""))
        length = first if self._n_columns is None else self._n_columns
        for name, row in rows.items():
            if len(row) != length:
                raise self._lines.refuse(
                    self._first[name],
                    f"the row of {shown(name)} has {plural(len(row), 'column')}, but should have "
                    f"{length} like all "
                    "rows. Are the sequences aligned?",
                )
        return ProteinAlignment(list(rows), list(rows.values()))


def _fasta_records(lines: Lines) -> Iterator[tuple[int, str, str]]:
    """The number of the line of each header, the header, and the lines after it without white space."""
    number, header, pieces = 0, "", list[str]()
    with lines.told_by_look(_LOOKS, "convert it to FASTA first"):
        for k, text in lines.filled():
            if text.startswith(">"):
                for pattern, found in _NO_SEQUENCES:
                    if pattern.match(text):
                        raise lines.refuse(k, f"{shown(text)} {found}")
                if header:
                    yield number, header, "".join(pieces)
                number, header, pieces = k, text, []
            elif not header:
                if not text.startswith("#"):
                    raise lines.refuse(k, f"{shown(text)} should be a header such as '>name'")
            elif _BRACKET.search(text):
                raise lines.refuse(k, f"{shown(text)} is not a row of residues")
            else:
                pieces += text.split()
        if header:
            yield number, header, "".join(pieces)


def _read_fasta(lines: Lines) -> Iterator[ProteinAlignment]:
    records, rows = list(_fasta_records(lines)), _Rows(lines)
    texts = [text for _, _, text in records]
    # In A3M residues in lower case have no columns, so all rows have as many others.
    others = {len(_OTHER.sub("", text)) for text in texts}
    differ = len(set(map(len, texts))) > 1 or without_compression(lines.name).lower().endswith(".a3m")
    if differ and len(others) == 1 and others != {0} and not any("." in text for text in texts):
        texts = _filled(texts)
    for (number, header, _), text in zip(records, texts, strict=True):
        name = header_name(header, len(rows.pieces) + 1)
        rows.begin(number, name)
        rows.pieces[name].append(text)
    yield rows.alignment()


def _filled(rows: list[str]) -> list[str]:
    """Rows of A3M as those of A2M, with ``.`` where others have residues in lower case."""
    # Before, between and after the columns a row has any number of residues in lower case. Each such stretch
    # gets the width of the longest one of all rows.
    inserted, columns = [_LOWER.split(row) for row in rows], [[*_OTHER.sub("", row), ""] for row in rows]
    widths = [max(map(len, between)) for between in zip(*inserted, strict=True)]
    out = []
    for texts, others in zip(inserted, columns, strict=True):
        cells = zip(texts, widths, others, strict=True)
        out.append("".join(f"{text:.<{width}}{column}" for text, width, column in cells))
    return out


def _is_clustal_header(text: str) -> bool:
    return text.upper().startswith(_PROGRAMS) or "multiple sequence alignment" in text


def _read_clustal(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, is_first = _Rows(lines), True
    for number, text in lines:
        words = text.split()
        is_row = len(words) == 2 or (len(words) == 3 and words[2].isdigit())
        # a blank line, or one of marks below a block, ends it; a second header begins another alignment
        if set(text) <= _CLUSTAL_MARKS:
            rows.block.clear()
        elif is_first or (_is_clustal_header(text) and not is_row):
            if rows.pieces:
                yield rows.alignment()
            rows, is_first = _Rows(lines), False
        elif is_row:
            rows.add_to_block(number, words[0], words[1])
        else:
            raise lines.refuse(
                number, f"{shown(text)} should be a name and residues, optionally with their number"
            )
    if not rows.pieces:
        raise DataError(f"{lines.name}: there are no rows after the header")
    yield rows.alignment()


def _read_stockholm(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, number = _Rows(lines), 0
    for number, text in lines:
        words = text.split()
        if text == "//":
            yield rows.alignment()
            rows = _Rows(lines)
        elif not text:
            rows.block.clear()
        elif len(words) == 2 and not text.startswith("#"):
            rows.add_to_block(number, words[0], words[1])
        elif not text.startswith("#"):
            raise lines.refuse(number, f"{shown(text)} should be a name and residues")
    if rows.pieces:
        raise lines.refuse(number, "the file ends without '//' after the last alignment")


def _read_phylip(lines: Lines) -> Iterator[ProteinAlignment]:
    """Read PHYLIP alignments; the layout, which files do not state, is tried out.

    Names end at the first blank ("relaxed") or have ten characters, perhaps with blanks ("strict"). The rows
    of all sequences take turns ("interleaved"), or each is whole before the next ("sequential"). The first
    layout in which each sequence has the number of columns in the header is taken.
    """
    for piece in lines.pieces(lambda text: _PHYLIP.fullmatch(text) is not None):
        (number, header), *rest = piece.filled()
        n_rows, n_columns = map(int, header.split()[:2])
        found, refused = None, list[DataError]()
        for is_strict, is_sequential in product((False, True), repeat=2):
            rows = _Rows(piece, n_columns)
            try:
                _add_phylip(rows, rest, (n_rows, n_columns), is_strict, is_sequential)
                if len(rows.pieces) == n_rows:
                    found = rows.alignment()
                    break
            except DataError as error:
                refused.append(error)
        if found is None:
            # a whole number of blocks suggests the usual layout: report its error
            if len(rest) % n_rows == 0 and refused:
                raise refused[0]
            raise piece.refuse(
                number, f"expected {plural(n_rows, 'sequence')} of {plural(n_columns, 'column')} from here on"
            )
        if any("." in row for row in found.rows):
            raise lines.refuse(
                number,
                "'.' in PHYLIP is ambiguous: for some programs it is the residue of the first sequence, for "
                "others a gap. Write residues, and '-' for gaps",
            )
        yield found


def _add_phylip(
    rows: _Rows, rest: list[tuple[int, str]], shape: tuple[int, int], is_strict: bool, is_sequential: bool
) -> None:
    n_rows, n_columns = shape
    names, missing = list[str](), 0  # residues that the last row has not got
    for k, (number, text) in enumerate(rest):
        if not missing if is_sequential else k < n_rows:
            if is_strict:
                name, text = text[:_STRICT_NAME].strip(), text[_STRICT_NAME:]
            else:
                name, *others = text.split(maxsplit=1)
                text = "".join(others)
            rows.begin(number, name)
            names.append(name)
            missing = n_columns
        piece = "".join(text.split())
        rows.pieces[names[-1 if is_sequential else k % n_rows]].append(piece)
        missing = max(0, missing - len(piece))


def _read_msf(lines: Lines) -> Iterator[ProteinAlignment]:
    """Read the single alignment of an MSF file (GCG's programs, BAliBASE and others)."""
    rows, number, is_named = _Rows(lines), 0, False
    for number, text in lines:
        words = text.split()
        if not is_named:
            if header := _MSF.fullmatch(text):
                rows = _Rows(lines, int(header[1]))
            elif text == "//":
                is_named = True
            elif text.startswith("Name:") and len(words) > 1:
                rows.begin(number, words[1])
        elif all(map(str.isdigit, words)):  # blank, or the numbers of columns
            rows.block.clear()
        elif words[0] in rows.pieces:
            pieces = [word for word in words[1:] if not word.isdigit()]
            rows.add_to_block(number, words[0], "".join(pieces).translate(_MSF_END_GAPS))
        else:
            raise lines.refuse(number, f"{shown(text)} does not begin with a name listed above '//'")
    if not is_named:
        raise lines.refuse(number, "the file ends without '//' after the names")
    if not rows.pieces:
        raise lines.refuse(number, "there are no names before '//'")
    yield rows.alignment()


# --- writing ----------------------------------------------------------------------------------------------


def write_protein_alignments(
    target: Source, alignments: Iterable[ProteinAlignment], format: str = "fasta", model: str = ""
) -> None:
    """Write alignments to a file, compressed by gzip if the path ends in ``.gz``.

    Several alignments in FASTA are separated by a blank line; such a file cannot be read back. In Stockholm
    format, each alignment has a comment with the version of structune and the model.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text; it stays open.
    alignments : iterable of ProteinAlignment
        Alignments to write.
    format : {"fasta", "clustal", "stockholm", "phylip", "msf"}
        Format of the file.
    model : str
        Name of the model for the comments; "" for none.
    """
    save(target, "\n".join(alignment_text(alignment, format, model=model) for alignment in alignments))


def alignment_text(
    alignment: ProteinAlignment, format: str, confidence: Sequence[float] | None = None, model: str = ""
) -> str:
    """Format an alignment as the text of a file.

    PHYLIP is strict if all names have at most ten characters; otherwise it is relaxed, with a warning. In all
    formats but FASTA, white space in names becomes ``_``, names with another meaning in the format get a
    ``_``, and repeated names get a number. `confidence`, one number per column, is written in Stockholm only:
    one digit each, 9 for 0.9 and above, ``.`` for nan; so is `model`.
    """
    if format not in _WRITERS:
        raise DataError(f"format={format!r}: expected one of {', '.join(map(repr, _WRITERS))}")
    names = alignment.names
    if format != "fasta":
        # FASTA alone takes any text for a name
        names = distinct(_plain(name, format) for name in names)
    if format == "stockholm":
        return _stockholm_text(names, alignment.rows, confidence, model)
    return _WRITERS[format](names, alignment.rows)


def _plain(name: str, format: str) -> str:
    """A name that cannot be mistaken for other syntax of the format."""
    name = one_word(name) or "_"
    if name.startswith("#") or name == "//":  # comments, and the end of an alignment
        return f"_{name}"
    return f"{name}_" if format == "clustal" and name.upper() in _PROGRAMS else name


def _fasta_text(names: list[str], rows: list[str]) -> str:
    return "".join(
        f">{name}\n" + ("".join(f"{row[k : k + _WIDTH]}\n" for k in range(0, len(row), _WIDTH)) or "\n")
        for name, row in zip(names, rows, strict=True)
    )


def _clustal_text(names: list[str], rows: list[str]) -> str:
    width, blocks = _longest(names) + 3, []
    for lines, pieces in _blocks(names, [row.replace(".", "-") for row in rows]):
        columns = zip(*(piece.upper() for piece in pieces), strict=True)
        same = "".join("*" if len(set(column)) == 1 and "-" not in column else " " for column in columns)
        blocks.append(f"{lines}{'':{width}}{same}\n")
    return "CLUSTAL W (structune) multiple sequence alignment\n\n" + "\n".join(blocks)


def _stockholm_text(
    names: list[str], rows: list[str], confidence: Sequence[float] | None = None, model: str = ""
) -> str:
    label = "#=GC confidence"
    width = max(_longest(names) + 3, len(label) + 1)
    lines = [f"{name:{width}}{row}\n" for name, row in zip(names, rows, strict=True)]
    if confidence is not None:
        digits = "".join("." if p != p else str(min(9, int(10 * p))) for p in confidence)
        lines.append(f"{label:{width}}{digits}\n")
    return "".join([f"# STOCKHOLM 1.0\n#=GF CC {made_by(model)}\n", *lines, "//\n"])


def _phylip_text(names: list[str], rows: list[str]) -> str:
    if _longest(names) > _STRICT_NAME:
        warn(
            f"Names of more than {_STRICT_NAME} letters need a reader of relaxed PHYLIP (RAxML, IQ-TREE, "
            "Biopython's 'phylip-relaxed'). Readers of strict PHYLIP misread the end of the name as residues."
        )
    width = max(_longest(names), _STRICT_NAME)
    named = zip(names, rows, strict=True)
    lines = [f"{name:{width}} {row.replace('.', '-')}\n" for name, row in named]
    return "".join([f" {len(names)} {_longest(rows)}\n", *lines])


def _msf_text(names: list[str], rows: list[str]) -> str:
    kind, width, n_columns = "N" if look_like_nucleotides(rows) else "P", _longest(names) + 3, _longest(rows)
    rows = [row.replace("-", ".") for row in rows]
    # GCG's checksum: letters are weighted by their places, 1 to 57 again and again
    checks = [sum((k % 57 + 1) * ord(letter) for k, letter in enumerate(row.upper())) % 10000 for row in rows]
    head = f" structune.msf  MSF: {n_columns}  Type: {kind}  Check: {sum(checks) % 10000}  ..\n\n"
    named = zip(names, checks, strict=True)
    listed = [f" Name: {name:{width}} Len: {n_columns}  Check: {c}  Weight: 1.00\n" for name, c in named]
    blocks = [lines for lines, _ in _blocks(names, rows)]
    return "".join(["PileUp\n\n", head, *listed, "\n//\n\n", "\n".join(blocks)])


_WRITERS = {
    "fasta": _fasta_text,
    "clustal": _clustal_text,
    "stockholm": _stockholm_text,
    "phylip": _phylip_text,
    "msf": _msf_text,
}


def _longest(texts: list[str]) -> int:
    return max(map(len, texts), default=0)


def _blocks(names: list[str], rows: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines of names and pieces of rows, and the pieces, some columns at a time."""
    width = _longest(names) + 3
    for k in range(0, _longest(rows), _WIDTH):
        pieces = [row[k : k + _WIDTH] for row in rows]
        yield "".join(f"{name:{width}}{piece}\n" for name, piece in zip(names, pieces, strict=True)), pieces
