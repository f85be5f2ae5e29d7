"""Alphabets of sequences: residues, ambiguity codes, and classes of residues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.structure import Array, FloatArray

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
_CHARACTERS = 256  # of Latin-1
_FEW, _MANY = 15, 50  # letters: as many of all sequences, or of one, tell what they are of
_STRANGE, _SURE = 0.02, 0.9  # shares of letters in DNA: of other ones; of A, C, G, T, U and N, if no more


class NucleotideWarning(UserWarning):
    """The sequences look like DNA or RNA, but the model is for proteins."""


@dataclass(frozen=True)
class Alphabet:
    """The letters of sequences, and their meaning."""

    name: str
    noun: str  # what a letter stands for, in errors
    residues: str
    percent: str  # how frequent each of these is
    ambiguous: Mapping[str, str]  # the residues that other letters may stand for
    classes: Mapping[str, str]  # those of residues around a match
    words: tuple[str, ...]  # residues that are the same where sequences are compared by words
    hydrophilic: str = ""  # none where that means nothing

    @cached_property
    def shares(self) -> FloatArray:
        """How frequent each residue is; their sum is 1."""
        percent = np.array(self.percent.split(), dtype=np.float64)
        return np.asarray(percent / percent.sum())

    @cached_property
    def residue_table(self) -> FloatArray:
        """Of each of `LETTERS`, the shares of the residues that it may stand for, shape (27, n_residues)."""
        table = np.zeros((len(LETTERS), len(self.residues)))
        for row, letter in zip(table, LETTERS, strict=True):
            known = letter if letter in self.residues else self.ambiguous.get(letter, "")
            row[[self.residues.index(residue) for residue in known]] = 1.0 / max(1, len(known))
        return table

    @cached_property
    def class_table(self) -> FloatArray:
        is_of = [[residue in letters for letters in self.classes.values()] for residue in self.residues]
        return np.asarray(self.residue_table @ np.array(is_of, np.float64))

    @cached_property
    def hydrophilic_table(self) -> FloatArray:
        """Of each letter, the share that is hydrophilic."""
        is_of = np.array([residue in self.hydrophilic for residue in self.residues], np.float64)
        return np.asarray(self.residue_table @ is_of)

    @cached_property
    def _numbers(self) -> NDArray[np.int8]:
        """Of each character, of either case, its place in `LETTERS`; -1 of others than ours."""
        numbers = np.full(_CHARACTERS, -1, np.int8)
        for number, (letter, row) in enumerate(zip(LETTERS, self.residue_table, strict=True)):
            if row.any():
                numbers[ord(letter)] = numbers[ord(letter.lower())] = number
        return numbers

    def parse(self, sequence: str, name: str) -> Array:
        """Indices of the letters in `LETTERS`; an error begins with `name`."""
        codes = np.frombuffer(sequence.encode("latin-1", "replace"), np.uint8)
        numbers: Array = self._numbers[codes]
        for k in np.flatnonzero(numbers < 0)[:1]:
            told = f"{sequence[k]!r} at residue {k} (from 0) is not {self.noun}"
            allowed = "".join(letter for letter in LETTERS if self._numbers[ord(letter)] >= 0)
            raise DataError(f"{name}: {told}. Allowed: {allowed}")
        return numbers


_AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"

PROTEIN = Alphabet(
    name="protein",
    noun="an amino acid",
    residues=_AMINO_ACIDS,
    # of Robinson & Robinson (1991)
    percent="7.8 5.1 4.5 5.4 1.9 4.3 6.3 7.4 2.2 5.1 9.0 5.7 2.2 3.9 5.2 7.1 5.8 1.3 3.2 6.4",
    ambiguous={"B": "DN", "Z": "EQ", "J": "IL", "U": "C", "O": "K", **dict.fromkeys("X*", _AMINO_ACIDS)},
    classes={
        "small": "AST",
        "cysteine": "C",
        "polar": "DENQ",
        "aromatic": "FWY",
        "glycine": "G",
        "basic": "HKR",
        "aliphatic": "ILMV",
        "proline": "P",
    },
    words=("AGPST", "C", "DENQ", "FWY", "HKR", "ILMV"),  # classes of Dayhoff
    hydrophilic="DEGKNPQRS",  # as in CLUSTAL W and CONTRAlign
)
NUCLEOTIDE = Alphabet(
    name="nucleotide",
    noun="a nucleotide",
    residues="ACGT",
    percent="25 25 25 25",
    ambiguous={
        "U": "T",
        "R": "AG",
        "Y": "CT",
        "S": "CG",
        "W": "AT",
        "K": "GT",
        "M": "AC",
        "B": "CGT",
        "D": "AGT",
        "H": "ACT",
        "V": "ACG",
        **dict.fromkeys("NX*", "ACGT"),
    },
    classes={letter: letter for letter in "ACGT"},
    words=("A", "C", "G", "TU"),
)
ALPHABETS = {alphabet.name: alphabet for alphabet in (PROTEIN, NUCLEOTIDE)}


def look_like_nucleotides(sequences: Iterable[str]) -> bool:
    """Whether sequences, or rows of alignments, look like DNA or RNA by the shares of their letters.

    That is: most letters are A, C, G, T, U or N, at least three of A, C, G, and T or U occur, and nearly all
    letters are IUPAC codes of nucleotides. One long sequence of this sort is enough.
    """
    total = np.zeros(_CHARACTERS, np.int64)
    for sequence in sequences:
        codes = np.frombuffer(sequence.upper().encode("latin-1", "replace"), np.uint8)
        counts = np.bincount(codes, minlength=_CHARACTERS)
        if codes.size >= _MANY and _are_nucleotides(counts, _MANY):
            return True
        total += counts
    return _are_nucleotides(total, _FEW)


def _are_nucleotides(counts: NDArray[np.int64], least: int) -> bool:
    def of(letters: str) -> int:
        return int(counts[list(letters.encode())].sum())

    # X and * say nothing of either. Of amino acids, A, C, G and T are also letters, so three kinds must be
    # there, and U counts as T.
    n, sure = of(LETTERS) - of("X*"), of("ACGTUN")
    if n < least or 2 * sure <= n or sum(of(letters) > 0 for letters in ("A", "C", "G", "TU")) < 3:
        return False
    return n - sure - of("RYSWKMBDHV") <= _STRANGE * n or sure >= _SURE * n


def warn_of_nucleotides(alphabet: Alphabet, sequences: Iterable[str]) -> None:
    """Warn of DNA or RNA that is read as amino acids."""
    if alphabet is PROTEIN and look_like_nucleotides(sequences):
        warn(
            "The sequences look like DNA or RNA but are read as proteins. Use alphabet='nucleotide' "
            "(--alphabet nucleotide), or the matrix NUC.4.4 (SequenceAligner.from_matrix, --model).",
            NucleotideWarning,
        )


def find_alphabet(name: str) -> Alphabet:
    if name not in ALPHABETS:
        raise DataError(f"alphabet={name!r}: expected one of {list(ALPHABETS)}")
    return ALPHABETS[name]
