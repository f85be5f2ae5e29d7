"""Alignments and sequences as the command line reads them, and the models that it opens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from structune.alignment.aligner import SequenceAligner
from structune.alignment.formats.any import read_protein_alignments
from structune.alignment.formats.fasta import NamedProtein, read_proteins
from structune.alignment.structure.alphabets import PROTEIN, Alphabet, find_alphabet, look_like_nucleotides
from structune.alignment.structure.rows import AlignedPair, parse_alignment, residues_of, without_gaps
from structune.cli.files import binary_source
from structune.cli.terminal import say
from structune.errors import CapabilityError, DataError
from structune.files.models import check_class, load
from structune.structure import FloatArray


@dataclass(frozen=True)
class Aligned:
    """Pairs with their alignments, as rows and parsed, and of which alignment of which file each is."""

    pairs: list[tuple[str, str]]
    rows: list[tuple[str, str]]
    known: list[AlignedPair]
    families: list[str]
    names: list[str]  # of both sequences

    @classmethod
    def of_pairs(cls, pairs: Iterable[KnownPair]) -> Self:
        """Those of one pair after the other."""
        return cls(*(list(column) for column in zip(*pairs, strict=True)))

    def __len__(self) -> int:
        return len(self.pairs)


class KnownPair(NamedTuple):
    """One of `Aligned`."""

    pair: tuple[str, str]
    rows: tuple[str, str]
    known: AlignedPair
    family: str
    names: str


def read_aligned(
    paths: Sequence[Path | str], alphabet: str, most: int | None = None, seed: int = 0
) -> Aligned:
    """All pairs of the alignments of files and folders, or at most so many of each alignment."""
    return Aligned.of_pairs(read_pairs(paths, alphabet, most, seed))


def read_pairs(
    paths: Sequence[Path | str], alphabet: str, most: int | None = None, seed: int = 0
) -> Iterator[KnownPair]:
    """The same, one at a time; one alignment is in memory."""
    rng, letters, n_found, n_unknown, alone = np.random.default_rng(seed), find_alphabet(alphabet), 0, 0, 0
    for path in files_of(paths):
        for number, alignment in enumerate(read_protein_alignments(path), 1):
            alone += len(alignment.names) < 2
            for a, b in _chosen(len(alignment.names), most, rng):
                rows, names = alignment.pair(a, b), f"{alignment.names[a]} and {alignment.names[b]}"
                pair = residues_of(rows)
                known = _parsed(rows, pair, letters, f"{path}: alignment {number}, {names}")
                if all(pair) and (known.whole or known.scored.any()):
                    n_found += 1
                    yield KnownPair(pair, rows, known, f"{path}:{number}", names)
                else:
                    n_unknown += 1
    if not n_found:
        raise DataError(
            f"{', '.join(map(str, paths))}: found no alignment of two sequences with a known column "
            "(those with a residue in lower case are not known)"
        )
    if n_unknown:
        say(
            f"left out {n_unknown:,} of {n_found + n_unknown:,} pairs, which have no match of two residues "
            "in upper case"
        )
    if alone:
        say(f"left out {alone:,} alignments of fewer than two sequences")


def _chosen(n: int, most: int | None, rng: np.random.Generator) -> Iterable[tuple[int, int]]:
    """All two of n sequences, or some of them; never a list of all."""
    if most is None:
        return combinations(range(n), 2)
    n_pairs = n * (n - 1) // 2
    numbers = np.sort(rng.choice(n_pairs, min(most, n_pairs), replace=False, shuffle=False)).tolist()
    return (_pair(n, k) for k in numbers)


def _pair(n: int, k: int) -> tuple[int, int]:
    """Number k of all two of n sequences, in the order of `combinations`."""
    left = n * (n - 1) // 2 - 1 - k  # pairs behind it, counted from the last
    row = (math.isqrt(8 * left + 1) - 1) // 2
    return n - 2 - row, n - 1 - (left - row * (row + 1) // 2)


def files_of(paths: Iterable[Path | str]) -> Iterator[Path]:
    """Files, and those in folders that are not hidden."""
    for path in map(Path, paths):
        if path.is_dir():
            if n_folders := sum(each.is_dir() and each.name[0] != "." for each in path.iterdir()):
                say(f"{path}: left out {n_folders:,} folders in it")
            yield from sorted(f for f in path.iterdir() if f.is_file() and not f.name.startswith("."))
        else:
            yield path


def stem(path: Path) -> str:
    """The name of a file without its ending, and without ``.gz``."""
    return Path(path.name.removesuffix(".gz")).stem


class Sequences(NamedTuple):
    """Those of a file, without gaps, and what is to be told of them."""

    file: str
    proteins: list[NamedProtein]
    told: list[str]


def read_sequences(file: str) -> Sequences:
    """Sequences to align; told is which gaps were left out, and which have no residues."""
    found = read_proteins(binary_source(file))
    proteins = [protein._replace(residues=without_gaps(protein.residues)) for protein in found]
    n_gapped = sum(a.residues != b.residues for a, b in zip(found, proteins, strict=True))
    empty, told = [protein.name for protein in proteins if not protein.residues], []
    if len(empty) == len(proteins) > 0:
        raise DataError(f"{file}: found {len(empty):,} names and no residues, expected some below the names")
    if n_gapped:
        told.append(f"{file}: left out the gaps of {n_gapped:,} of {len(proteins):,} sequences")
    if empty:
        n_empty = f"{len(empty):,} of {len(proteins):,} sequences"
        told.append(f"{file}: {n_empty} have no residues, {empty[0]} first")
    return Sequences(file, proteins, told)


def check_letters(file: str, named: Sequence[tuple[str, str]], alphabet: Alphabet) -> None:
    """Refuse other letters than those of a model, and say where it takes nucleotides for amino acids."""
    for name, sequence in named:
        alphabet.parse(sequence, f"{file}, {name}")
    if alphabet is PROTEIN and look_like_nucleotides(sequence for _, sequence in named):
        say(f"{file}: the sequences look like DNA or RNA, and are aligned as proteins: give --model NUC.4.4")


def _parsed(rows: tuple[str, str], pair: tuple[str, str], alphabet: Alphabet, name: str) -> AlignedPair:
    for sequence in pair:
        alphabet.parse(sequence, name)
    return parse_alignment(rows, pair, name)


def null_for_nan(confidence: FloatArray) -> list[float | None]:
    """Of each column, as JSON has it: null where there is no match."""
    return [None if math.isnan(p) else p for p in confidence.round(6).tolist()]


def open_aligner(model: str, n_jobs: int, log_odds: bool = False) -> SequenceAligner:
    """A model that train or tune saved, the word pretrained, or the name of a substitution matrix.

    With `log_odds` a matrix has probabilities, too.
    """
    if model == "pretrained":
        aligner = SequenceAligner.pretrained()
    elif not Path(model).exists() and not Path(model).suffix[1:].isalpha():  # as in NUC.4.4
        aligner = SequenceAligner.from_matrix(model, log_odds=log_odds)
    else:
        aligner = check_class(load(model), SequenceAligner, model, "an aligner")
    aligner.set_params(n_jobs=n_jobs)
    return aligner


def check_gamma(aligner: SequenceAligner, gamma: float | None) -> None:
    """Refuse a gamma where there are no probabilities."""
    if gamma is not None and not aligner.has_probabilities:
        raise CapabilityError("found a model without probabilities, which has no use for --gamma")
