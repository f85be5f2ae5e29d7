"""Reading alignments from files of any format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from structune.alignment.formats.clustal import is_clustal_header, read_clustal
from structune.alignment.formats.fasta import read_fasta
from structune.alignment.formats.msf import is_msf_header, read_msf
from structune.alignment.formats.phylip import is_phylip_header, read_phylip
from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.stockholm import read_stockholm
from structune.errors import DataError
from structune.files.text import Lines, Source, shown

_HEAD = 100  # lines that may come before what tells the format
_FORMATS = "an alignment in FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP or MSF"


def read_protein_alignments(source: Source) -> Iterator[ProteinAlignment]:
    """Read the alignments of a file, compressed by gzip or not; its beginning tells the format.

    A FASTA or MSF file holds one alignment, a Clustal, Stockholm or PHYLIP file any number. In A2M files,
    which are FASTA files, residues in lower case are unaligned, and ``.`` fills the columns that they take.
    In A3M files nothing fills them: those are told by rows of different lengths that have as many columns
    without the residues in lower case, or by a name that ends in ``.a3m``, and become A2M.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Yields
    ------
    ProteinAlignment

    Raises
    ------
    DataError
        Names the file and line of what fits no format, of a name without a row, and of a row of another
        length than the first.
    """
    lines = Lines(source)
    with lines.told_by_look((), "convert it first"):
        read = _reader(lines)
    return read(lines)


def is_alignment_file(path: Path) -> bool:
    """Whether a file begins as one of the formats that `read_protein_alignments` reads."""
    try:
        return bool(_reader(Lines(path)))
    except DataError:
        return False


def _reader(lines: Lines) -> Callable[[Lines], Iterator[ProteinAlignment]]:
    first = next((text for text in lines.head(_HEAD) if text), "")
    if not first:
        raise DataError(f"{lines.name}: found an empty file, expected {_FORMATS}")
    if first.startswith("# STOCKHOLM"):
        return read_stockholm
    head = next((text for text in lines.head(_HEAD) if text and not text.startswith("#")), "")
    if head.startswith(">"):
        return read_fasta
    if is_clustal_header(head):
        return read_clustal
    if is_phylip_header(head):
        return read_phylip
    if any(map(is_msf_header, lines.head(_HEAD))):
        return read_msf
    raise DataError(f"{lines.name}: found {shown(first)}, expected {_FORMATS}")
