"""How the command line reads alignments and opens models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structune.alignment.aligner import SequenceAligner
from structune.alignment.formats import read_protein_alignments
from structune.alignment.structure.alphabets import find_alphabet
from structune.alignment.structure.rows import AlignedPair, parse_alignment, residues_of
from structune.cli.terminal import say
from structune.errors import CapabilityError, DataError
from structune.files.models import check_class, load
from structune.files.text import plural, without_compression


class KnownPair(NamedTuple):
    """Two sequences, their alignment as rows and parsed, its file and number, and both names."""

    pair: tuple[str, str]
    rows: tuple[str, str]
    known: AlignedPair
    family: str
    names: str


def read_pairs(
    paths: Sequence[Path | str], alphabet: str, most: int | None = None, seed: int = 0
) -> Iterator[KnownPair]:
    """Yield the pairs of all alignments of files and folders, or at most `most` of each alignment.

    Only one alignment is in memory at a time.
    """
    rng, letters, n_found, n_unknown, alone = np.random.default_rng(seed), find_alphabet(alphabet), 0, 0, 0
    for path in files_of(paths):
        for number, alignment in enumerate(read_protein_alignments(path), 1):
            alone += len(alignment.names) < 2
            # which pairs are taken depends on the seed and the numbers of sequences, not on their letters
            for a, b in _chosen(len(alignment.names), most, rng):
                rows, names = alignment.pair(a, b), f"{alignment.names[a]} and {alignment.names[b]}"
                pair = residues_of(rows)
                told = f"{path}: alignment {number}, {names}"
                for sequence in pair:
                    letters.parse(sequence, told)
                known = parse_alignment(rows, pair, told)
                if all(pair) and (known.whole or known.scored.any()):
                    n_found += 1
                    yield KnownPair(pair, rows, known, f"{path}:{number}", names)
                else:
                    n_unknown += 1
    if not n_found:
        raise DataError(
            f"{', '.join(map(str, paths))}: no pair of sequences has a known column (columns with a residue "
            "in lower case are not known)"
        )
    if n_unknown:
        say(
            f"skipped {n_unknown:,} of {n_found + n_unknown:,} pairs, which have no match of two residues in "
            "upper case"
        )
    if alone:
        say(f"skipped {plural(alone, 'alignment')} of fewer than two sequences")


def _chosen(n: int, most: int | None, rng: np.random.Generator) -> Iterable[tuple[int, int]]:
    """All two of n sequences, or some of them; never a list of all."""
    if most is None:
        yield from combinations(range(n), 2)
        return
    n_pairs = n * (n - 1) // 2
    for k in np.sort(rng.choice(n_pairs, min(most, n_pairs), replace=False, shuffle=False)).tolist():
        # pair k in the order of `combinations`: rows of 1, 2, 3, ... pairs, counted from the last pair on
        left = n_pairs - 1 - k
        row = (math.isqrt(8 * left + 1) - 1) // 2
        yield n - 2 - row, n - 1 - (left - row * (row + 1) // 2)


def files_of(paths: Iterable[Path | str]) -> Iterator[Path]:
    """Files, and the files in folders unless they are hidden."""
    for path in map(Path, paths):
        if path.is_dir():
            if n_folders := sum(each.is_dir() and each.name[0] != "." for each in path.iterdir()):
                say(f"{path}: skipped {n_folders:,} folders in this folder")
            yield from sorted(f for f in path.iterdir() if f.is_file() and not f.name.startswith("."))
        else:
            yield path


def stem(path: Path) -> str:
    """The name of a file without its ending, and without ``.gz``."""
    return Path(without_compression(path.name)).stem


def open_aligner(model: str, n_jobs: int, log_odds: bool = False) -> SequenceAligner:
    """Open a model file, the pretrained model, or a matrix by name (with probabilities if `log_odds`)."""
    if model == "pretrained":
        aligner = SequenceAligner.pretrained()
    elif not Path(model).exists() and not Path(model).suffix[1:].isalpha():  # as in NUC.4.4
        aligner = SequenceAligner.from_matrix(model, log_odds=log_odds)
    else:
        aligner = check_class(load(model), SequenceAligner, model, "an aligner")
    aligner.set_params(n_jobs=n_jobs)
    return aligner


def check_gamma(aligner: SequenceAligner, gamma: float | None) -> None:
    if gamma is not None and not aligner.has_probabilities:
        raise CapabilityError("--gamma has no effect: the model has no probabilities")
