"""Alignments as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from structune.alignment.formats.record import ProteinAlignment
from structune.errors import DataError
from structune.files.text import Source, distinct, one_word, save

_WIDTH = 60


def write_protein_alignments(
    target: Source, alignments: Iterable[ProteinAlignment], format: str = "fasta"
) -> None:
    """Write alignments, compressed by gzip where the path ends in ``.gz``.

    Parameters
    ----------
    target : path or file object
    alignments : iterable of ProteinAlignment
        In FASTA a blank line is between two; a file of several is not one that can be read back.
    format : {"fasta", "clustal", "stockholm", "phylip", "msf"}

    Raises
    ------
    DataError
        A format that is not known.
    """
    save(target, "\n".join(alignment_text(alignment, format) for alignment in alignments))


def alignment_text(
    alignment: ProteinAlignment, format: str, confidence: Sequence[float] | None = None
) -> str:
    """An alignment as the text of a file.

    Parameters
    ----------
    alignment : ProteinAlignment
    format : {"fasta", "clustal", "stockholm", "phylip", "msf"}
        PHYLIP's is the relaxed one, with names of any length. In all but FASTA white space in names becomes
        ``_``, and of names that are there twice the later ones get a number.
    confidence : sequence of float, optional
        Of each column, for Stockholm: a digit each, 9 from 0.9 on, ``.`` for nan.
    """
    if format not in _WRITERS:
        expected = ", ".join(map(repr, _WRITERS))
        raise DataError(f"format={format!r}: expected one of {expected}")
    if format != "fasta":
        alignment = alignment._replace(names=distinct(map(one_word, alignment.names)))
    return _WRITERS[format](alignment, confidence)


def _fasta_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    return "".join(
        f">{name}\n{_wrapped(row)}" for name, row in zip(alignment.names, alignment.rows, strict=True)
    )


def _clustal_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, blocks = _name_width(alignment), []
    for lines, pieces in _blocks(alignment.names, [row.replace(".", "-") for row in alignment.rows], width):
        blocks.append("".join([*lines, " " * width, _identities(pieces), "\n"]))
    return "CLUSTAL W (structune)\n\n" + "\n".join(blocks)


def _stockholm_text(alignment: ProteinAlignment, confidence: Sequence[float] | None) -> str:
    label, lines = "#=GC confidence", ["# STOCKHOLM 1.0\n"]
    width = max(_name_width(alignment), len(label) + 1)
    lines += [f"{name:{width}}{row}\n" for name, row in zip(alignment.names, alignment.rows, strict=True)]
    if confidence is not None:
        digits = "".join("." if p != p else str(min(9, int(10 * p))) for p in confidence)
        lines.append(f"{label:{width}}{digits}\n")
    return "".join([*lines, "//\n"])


def _phylip_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, n_columns = _name_width(alignment), max(map(len, alignment.rows), default=0)
    rows = zip(alignment.names, alignment.rows, strict=True)
    lines = [f"{name:{width}}{row.replace('.', '-')}\n" for name, row in rows]
    return "".join([f" {len(alignment.names)} {n_columns}\n", *lines])


def _msf_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, n_columns = _name_width(alignment), max(map(len, alignment.rows), default=0)
    rows = [row.replace("-", ".") for row in alignment.rows]
    checks = [_gcg_checksum(row) for row in rows]
    head = f" structune.msf  MSF: {n_columns}  Type: P  Check: {sum(checks) % 10000}  ..\n\n"
    named = zip(alignment.names, checks, strict=True)
    listed = [f" Name: {name:{width}} Len: {n_columns}  Check: {c}  Weight: 1.00\n" for name, c in named]
    blocks = ["".join(lines) for lines, _ in _blocks(alignment.names, rows, width)]
    return "".join(["PileUp\n\n", head, *listed, "\n//\n\n", "\n".join(blocks)])


def _gcg_checksum(row: str) -> int:
    return sum((k % 57 + 1) * ord(letter) for k, letter in enumerate(row.upper())) % 10000


_WRITERS = {
    "fasta": _fasta_text,
    "clustal": _clustal_text,
    "stockholm": _stockholm_text,
    "phylip": _phylip_text,
    "msf": _msf_text,
}


def _name_width(alignment: ProteinAlignment) -> int:
    return max((len(name) for name in alignment.names), default=0) + 3


def _blocks(names: list[str], rows: list[str], width: int) -> Iterator[tuple[list[str], list[str]]]:
    """Lines of names and pieces of rows, and the pieces, some columns at a time."""
    for k in range(0, max(map(len, rows), default=0), _WIDTH):
        pieces = [row[k : k + _WIDTH] for row in rows]
        yield [f"{name:{width}}{piece}\n" for name, piece in zip(names, pieces, strict=True)], pieces


def _identities(pieces: Sequence[str]) -> str:
    columns = zip(*(piece.upper() for piece in pieces), strict=True)
    return "".join("*" if len(set(column)) == 1 and "-" not in column else " " for column in columns)


def _wrapped(row: str) -> str:
    return "".join(f"{row[k : k + _WIDTH]}\n" for k in range(0, len(row), _WIDTH)) or "\n"
