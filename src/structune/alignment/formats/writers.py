"""Alignments as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from structune.alignment.formats.clustal import PROGRAMS
from structune.alignment.formats.phylip import STRICT_NAME
from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.structure.alphabets import look_like_nucleotides
from structune.errors import DataError, warn
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
        PHYLIP's is the strict one where all names have ten letters at most, and else the relaxed one, which
        is told by a warning. In all but FASTA white space in names becomes ``_``, names that mean something
        else in the format get a ``_``, and of names that are there twice the later ones get a number.
    confidence : sequence of float, optional
        Of each column, for Stockholm: a digit each, 9 from 0.9 on, ``.`` for nan.
    """
    if format not in _WRITERS:
        expected = ", ".join(map(repr, _WRITERS))
        raise DataError(f"format={format!r}: expected one of {expected}")
    if format != "fasta":
        alignment = alignment._replace(names=distinct(_plain(name, format) for name in alignment.names))
    return _WRITERS[format](alignment, confidence)


def _plain(name: str, format: str) -> str:
    """A name that no reader of the format takes for something else."""
    name = one_word(name) or "_"
    if name.startswith("#") or name == "//":  # comments, and the end of an alignment
        return f"_{name}"
    return f"{name}_" if format == "clustal" and name.upper() in PROGRAMS else name


def _fasta_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    return "".join(
        f">{name}\n{_wrapped(row)}" for name, row in zip(alignment.names, alignment.rows, strict=True)
    )


def _clustal_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, blocks = _name_width(alignment), []
    for lines, pieces in _blocks(alignment.names, [row.replace(".", "-") for row in alignment.rows], width):
        blocks.append("".join([*lines, " " * width, _identities(pieces), "\n"]))
    return "CLUSTAL W (structune) multiple sequence alignment\n\n" + "\n".join(blocks)


def _stockholm_text(alignment: ProteinAlignment, confidence: Sequence[float] | None) -> str:
    label, lines = "#=GC confidence", ["# STOCKHOLM 1.0\n"]
    width = max(_name_width(alignment), len(label) + 1)
    lines += [f"{name:{width}}{row}\n" for name, row in zip(alignment.names, alignment.rows, strict=True)]
    if confidence is not None:
        digits = "".join("." if p != p else str(min(9, int(10 * p))) for p in confidence)
        lines.append(f"{label:{width}}{digits}\n")
    return "".join([*lines, "//\n"])


def _phylip_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    longest = max(map(len, alignment.names), default=0)
    if longest > STRICT_NAME:
        warn(
            f"Names of more than {STRICT_NAME} letters are for readers of relaxed PHYLIP (RAxML, IQ-TREE, "
            "Biopython's 'phylip-relaxed'). Strict ones take a part of the name for residues."
        )
    width, n_columns = max(longest, STRICT_NAME), max(map(len, alignment.rows), default=0)
    rows = zip(alignment.names, alignment.rows, strict=True)
    lines = [f"{name:{width}} {row.replace('.', '-')}\n" for name, row in rows]
    return "".join([f" {len(alignment.names)} {n_columns}\n", *lines])


def _msf_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, n_columns = _name_width(alignment), max(map(len, alignment.rows), default=0)
    rows = [row.replace("-", ".") for row in alignment.rows]
    checks = [_gcg_checksum(row) for row in rows]
    kind = "N" if look_like_nucleotides(alignment.rows) else "P"
    head = f" structune.msf  MSF: {n_columns}  Type: {kind}  Check: {sum(checks) % 10000}  ..\n\n"
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
