"""Alignments and sequences as the alignment commands read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structune.alignment.aligner import SequenceAligner
from structune.alignment.formats.any import read_protein_alignments
from structune.alignment.structure.alphabets import Alphabet, find_alphabet
from structune.alignment.structure.rows import AlignedPair, parse_alignment, residues_of
from structune.cli.checks import check_class
from structune.cli.options import PRETRAINED
from structune.errors import CapabilityError, DataError
from structune.files.models import load
from structune.structure import FloatArray


@dataclass(frozen=True)
class Aligned:
    """Pairs with their alignments, as rows and parsed, and of which alignment of which file each is."""

    pairs: list[tuple[str, str]]
    rows: list[tuple[str, str]]
    known: list[AlignedPair]
    families: list[str]
    names: list[str]  # of both sequences

    def __len__(self) -> int:
        return len(self.pairs)


def read_aligned(paths: Sequence[Path], alphabet: str, most: int | None = None, seed: int = 0) -> Aligned:
    """All pairs of the alignments of files and folders, or at most so many of each alignment."""
    rng, found = np.random.default_rng(seed), Aligned([], [], [], [], [])
    letters = find_alphabet(alphabet)
    for path in files_of(paths):
        for number, alignment in enumerate(read_protein_alignments(path), 1):
            first, second = np.triu_indices(len(alignment.names), 1)
            chosen = np.arange(first.size) if most is None else np.sort(rng.permutation(first.size)[:most])
            for a, b in zip(first[chosen].tolist(), second[chosen].tolist(), strict=True):
                rows, names = alignment.pair(a, b), f"{alignment.names[a]} and {alignment.names[b]}"
                pair = residues_of(rows)
                known = _parsed(rows, pair, letters, f"{path}: alignment {number}, {names}")
                if known.whole or known.scored.any():
                    found.pairs.append(pair)
                    found.rows.append(rows)
                    found.known.append(known)
                    found.families.append(f"{path}:{number}")
                    found.names.append(names)
    if not found.pairs:
        raise DataError(
            f"{', '.join(map(str, paths))}: found no alignment of two sequences with a known column "
            "(those with a residue in lower case are not known)"
        )
    return found


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Files, and those in folders that are not hidden."""
    for path in paths:
        if path.is_dir():
            yield from sorted(f for f in path.iterdir() if f.is_file() and not f.name.startswith("."))
        else:
            yield path


def stem(path: Path) -> str:
    """The name of a file without its ending, and without ``.gz``."""
    return Path(path.name.removesuffix(".gz")).stem


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
    if model == PRETRAINED:
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
