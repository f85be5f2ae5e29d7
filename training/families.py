"""Sets of proteins to align, and models that have not learned from them."""

from __future__ import annotations

import io
import tarfile
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from alignment import drawn, fit
from structune import SequenceAligner
from structune.alignment import ProteinAlignment, load_protein_alignments, read_proteins
from structune.alignment.structure.rows import GAPS, parse_alignment, residues_of
from structune.files.data_sets import data_folder

Sets = dict[str, dict[str, str]]  # sequences by name, by set


def data(file: str) -> Path:
    folder = data_folder()
    if folder is None:
        raise SystemExit("found no data folder: see STRUCTUNE_DATA")
    return folder / "alignment" / file


def inputs(name: str) -> Sets:
    """The sequences to align."""
    found = {}
    with tarfile.open(data(f"bench1.0_{name}.tar.gz")) as archive:
        for member in archive.getmembers():
            path, file = PurePosixPath(member.name), archive.extractfile(member)
            if path.parent.name == "in" and file is not None:
                found[path.name] = {p.name: p.residues for p in read_proteins(io.BytesIO(file.read()))}
    return dict(sorted(found.items()))


def aligner_for(name: str, key: str) -> SequenceAligner:
    """For a set of "sabre" one of two models, for one of "prefab4" that which ships."""
    aligner = model(folds()[key]) if name == "sabre" else SequenceAligner.pretrained()
    return aligner.set_params(n_jobs=-1)


@cache
def folds() -> dict[str, int]:
    """One of two for each of SABmark's sets; those that share a sequence have the same."""
    sets = inputs("sabre")
    first: dict[str, int] = {}
    joined = np.zeros((len(sets), len(sets)))
    for k, sequences in enumerate(sets.values()):
        for name in sequences:
            joined[first.setdefault(name, k), k] = 1.0
    n_components, component = connected_components(joined, directed=False)
    fold = np.random.default_rng(0).integers(0, 2, n_components)[component]
    return dict(zip(sets, fold.tolist(), strict=True))


@cache
def model(fold: int) -> SequenceAligner:
    """Learned from SABmark's sets that are not of this fold."""
    references = load_protein_alignments("sabre")
    return fit(drawn([references[key] for key, own in folds().items() if own != fold]), tolerance=3e-3)


class Judged(NamedTuple):
    """Matches of two sequences: both residues, the column, and whether they are those of the reference."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    column: NDArray[np.int64]
    right: NDArray[np.bool_]


def judged(reference: ProteinAlignment, found: ProteinAlignment, a: int, b: int) -> Judged:
    """The matches of two sequences that were found, of residues that have one in the reference."""
    rows = dict(zip(found.names, found.rows, strict=True))
    inside = [~np.isin(list(rows[reference.names[k]]), list(GAPS)) for k in (a, b)]
    column = np.flatnonzero(inside[0] & inside[1])
    i, j = (np.cumsum(residues)[column] - 1 for residues in inside)
    known = parse_alignment(pair := reference.pair(a, b), residues_of(pair), "reference")
    partner = np.where(known.scored, known.partner, -1)
    counts = (partner[i] >= 0) | np.isin(j, partner[partner >= 0])
    return Judged(i[counts], j[counts], column[counts], (partner[i] == j)[counts])
