"""RNA sequences with known secondary structures."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from structune.errors import DataError
from structune.files.data_sets import find
from structune.structure import FloatArray

_COLUMNS = ["id", "family", "sequence", "dotbracket"]
_FILES = {
    "s151rfam": "rna/S151Rfam.tsv.gz",
    "tornado_train_a": "rna/tornado_TrainSetA.tsv.gz",
    "tornado_test_a": "rna/tornado_TestSetA.tsv.gz",
    "rfam1359": "rna/rfam1359.tsv.gz",
    "archiveii": "rna/archiveII.tsv.gz",
    "rna3db": "rna/rna3db.tsv.gz",
    "andronescu_test": "rna/S-Processed-TES.tsv.gz",
}
_PRIMER = 20  # bases at the end of probed sequences where the primer binds


@dataclass(frozen=True)
class RNAData:
    """RNA sequences with known structures, as four lists of the same length.

    Attributes
    ----------
    names, families : list of str
        Name and family of each sequence.
    sequences : list of str
        Sequences over ACGU, rarely with another IUPAC letter.
    structures : list of str
        Structures in dot-bracket notation; brackets other than ``()`` mark pairs in pseudoknots.
    """

    names: list[str]
    families: list[str]
    sequences: list[str]
    structures: list[str]

    def __len__(self) -> int:
        return len(self.names)

    def take(self, indices: Iterable[int]) -> RNAData:
        """Select the examples at `indices`, in that order."""
        chosen = list(indices)
        return RNAData(*([getattr(self, field.name)[s] for s in chosen] for field in fields(self)))


def load_rna(name: str) -> RNAData:
    """Load a data set of RNA sequences with known secondary structures.

    The files must be in the data folder, which the environment variable STRUCTUNE_DATA names; they are never
    downloaded. The licenses of some allow research only.

    Parameters
    ----------
    name : str
        - "s151rfam": 151 sequences, one from each of 151 Rfam families (Do, Woods & Batzoglou 2006; Do, Foo &
          Ng 2007); without pseudoknots.
        - "tornado_train_a" and "tornado_test_a": training set A (3166, S151Rfam among them) and test set A
          (697) of Rivas, Lang & Eddy 2012.
        - "rfam1359": 1359 sequences of the seed alignments of Rfam 14.9, at most four per family; without
          pseudoknots. Split them by family.
        - "archiveii": 3975 sequences of ten families (Sloma & Mathews 2016); 795 of them are in
          "tornado_train_a".
        - "andronescu_test": 974 fragments of Andronescu et al. 2010.
        - "rna3db": 476 chains of solved structures of up to 300 bases (Szikszai et al. 2024), in 45 groups of
          related chains; nested canonical pairs only.

    Raises
    ------
    DataError
        The name is unknown.
    DatasetUnavailable
        The file is not in the data folder, or differs from the expected one.
    """
    if name not in _FILES:
        raise DataError(f"{name!r} is not a data set; choose one of {sorted(_FILES)}")
    return RNAData(*map(list, zip(*_rows(find(_FILES[name]), _COLUMNS), strict=True)))


@dataclass(frozen=True)
class ProbedData:
    """Probed RNA sequences, as three lists of the same length.

    Attributes
    ----------
    projects : list of str
        Eterna project of each sequence; sequences of one project are similar.
    sequences : list of str
    reactivities : list of ndarray, shape (n_bases,)
        Reactivities of the bases of each sequence; nan for missing values.
    """

    projects: list[str]
    sequences: list[str]
    reactivities: list[FloatArray]

    def __len__(self) -> int:
        return len(self.projects)


def load_probed() -> ProbedData:
    """Load reactivities to 1M7 of 13,540 designed RNAs of Eterna Cloud Labs (Wayment-Steele et al. 2022).

    The last 20 bases of each sequence, where the primer binds, have no reactivities.

    Raises
    ------
    DatasetUnavailable
        The file is not in the data folder, as in `load_rna`.
    """
    rows = _rows(find("rna/eterna_1m7.tsv.gz"), ["set", "project", "sequence", "first", "reactivities"])
    _, projects, sequences, starts, values = map(list, zip(*rows, strict=True))
    reactivities = [np.full(len(sequence), np.nan) for sequence in sequences]
    for row, first, known in zip(reactivities, map(int, starts), values, strict=True):
        given = np.array(known.split(","), np.float64)
        row[first - 1 : first - 1 + given.size] = given
        row[-_PRIMER:] = np.nan
    return ProbedData(projects, sequences, reactivities)


def _rows(path: Path, columns: list[str]) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    if header != columns:
        raise DataError(f"{path}:1: the columns are {header}, expected {columns}")
    return rows
