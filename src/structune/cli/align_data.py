"""Alignments and sequences as the alignment commands read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.estimators.aligner import SequenceAligner
from structune.formats import read_protein_alignments
from structune.model_files import load
from structune.structures.alignment_rows import parse_alignment, parse_protein, residues_of


@dataclass(frozen=True)
class Aligned:
    """Pairs with their alignments, and the file of each."""

    pairs: list[tuple[str, str]]
    rows: list[tuple[str, str]]
    files: list[str]

    def __len__(self) -> int:
        return len(self.pairs)


def read_aligned(paths: Sequence[Path], most: int | None = None, seed: int = 0) -> Aligned:
    """All pairs of the alignments of files and folders, or at most so many of each alignment."""
    rng, found = np.random.default_rng(seed), Aligned([], [], [])
    for path in _files(paths):
        for number, alignment in enumerate(read_protein_alignments(path), 1):
            pairs = list(alignment.pairs())
            chosen = range(len(pairs)) if most is None else np.sort(rng.permutation(len(pairs))[:most])
            for (a, b), rows in (pairs[k] for k in chosen):
                found.pairs.append(residues_of(rows))
                _check(rows, found.pairs[-1], f"{path}: alignment {number}, {a} and {b}")
                found.rows.append(rows)
                found.files.append(str(path))
    if not found.pairs:
        raise DataError(f"{', '.join(map(str, paths))}: found no alignment of two sequences")
    return found


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]


def _check(rows: tuple[str, str], pair: tuple[str, str], name: str) -> None:
    for sequence in pair:
        parse_protein(sequence, name)
    parse_alignment(rows, pair, name)


def open_aligner(model: str, n_jobs: int) -> SequenceAligner:
    """A model that train or tune saved, or the name of a substitution matrix."""
    is_name = not Path(model).exists() and "." not in model
    aligner = SequenceAligner.from_matrix(model) if is_name else load(model)
    if not isinstance(aligner, SequenceAligner):
        raise ModelFileError(f"{model}: found a model of class {type(aligner).__name__}, expected an aligner")
    aligner.set_params(n_jobs=n_jobs)
    return aligner
