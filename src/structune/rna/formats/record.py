"""An RNA sequence with its name and, where known, its secondary structure."""

from __future__ import annotations

from dataclasses import dataclass, field

from structune.errors import DataError
from structune.files.text import Lines, shown
from structune.rna.formats.brackets import STRANDS, bases_of, check_cut, check_strands, partners

BASES = "ACGUNRYSWKMBDHVX"
GAPS = "-._~"  # of aligned sequences
_RESIDUES = "EFILPQ"  # of proteins alone
_CLEAN = str.maketrans(BASES.lower() + "tT", BASES + "UU")


@dataclass(frozen=True)
class RNARecord:
    """An RNA sequence, as all files of sequences and structures hold it.

    Attributes
    ----------
    name : str
        One word.
    sequence : str
        Upper case: A, C, G, U, and N, R, Y, S, W, K, M, B, D, H, V, X for bases not fully known. Lower case
        and T are accepted and made upper case and U. Two strands have ``&`` between them, in the structure,
        too.
    structure : str, optional
        Dot-bracket notation as `structune.rna.partners` reads it, a character a base.
    description : str
        What follows the name in a header ``>name``. Records are equal whatever it is.
    """

    name: str
    sequence: str
    structure: str | None = None
    description: str = field(default="", compare=False)

    @property
    def header(self) -> str:
        """The name, and the description if there is one."""
        return f"{self.name} {self.description}".rstrip()

    def __post_init__(self) -> None:
        if self.name.split() != [self.name] or not _is_unicode(self.name):
            raise DataError(f"found the name {shown(self.name)}, expected one word of UTF-8 text")
        if len(self.description.splitlines()) > 1 or not _is_unicode(self.description):
            raise DataError(
                f"found the description {shown(self.description)}, expected one line of UTF-8 text"
            )
        try:
            object.__setattr__(self, "sequence", clean_strands(self.sequence))
            check_strands(self.sequence)
            if self.structure is not None:
                check_cut(self.structure, self.n_bases, self.sequence.find(STRANDS), "a structure")
                partners(self.structure)
        except DataError as error:
            raise DataError(f"record {shown(self.name)}: {error}") from error

    @property
    def n_bases(self) -> int:
        """Of all strands."""
        return len(bases_of(self.sequence))


def record_at(lines: Lines, number: int, name: str, parts: list[str], description: str = "") -> RNARecord:
    """The record that begins at a line of a file, of the pieces of its sequence; errors name the line."""
    with lines.at(number):
        return RNARecord(name, "".join(parts), description=description)


def clean_strands(text: str) -> str:
    """As `clean_sequence`, but with ``&`` between two strands or pieces of them."""
    return clean_sequence(text, BASES + STRANDS)


def clean_sequence(text: str, letters: str = BASES) -> str:
    """Upper case, with U for T.

    Raises
    ------
    DataError
        Names the position, from 1, of a character that is no base.
    """
    sequence = text.translate(_CLEAN)
    if rest := sequence.lstrip(letters):
        position = len(sequence) - len(rest)
        hint = " (is it a protein?)" if text[position].upper() in _RESIDUES else ""
        raise DataError(
            f"position {position + 1} (from 1): found {text[position]!r}, expected one of {BASES} or T{hint}"
        )
    return sequence


def need_structure(record: RNARecord) -> str:
    """The structure of a record, for files that must have one."""
    if record.structure is None:
        raise DataError(f"record {shown(record.name)}: found no structure, expected one")
    return record.structure


def need_table(record: RNARecord) -> list[int]:
    """The partners of a record's bases, from 1, 0 for none: tables of bases have one strand."""
    if STRANDS in record.sequence:
        raise DataError(
            f"record {shown(record.name)}: found two strands, which CT and BPSEQ files have no notation for, "
            "expected one"
        )
    found: list[int] = (partners(need_structure(record)) + 1).tolist()
    return found


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
