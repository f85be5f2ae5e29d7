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
    """Sequences with their structures; four lists of one length.

    Attributes
    ----------
    names, families : list of str
    sequences : list of str
        Over ACGU, rarely with another letter of the IUPAC code.
    structures : list of str
        In dot-bracket notation; brackets other than ``()`` mark the pairs of pseudoknots.
    """

    names: list[str]
    families: list[str]
    sequences: list[str]
    structures: list[str]

    def __len__(self) -> int:
        return len(self.names)

    def take(self, indices: Iterable[int]) -> RNAData:
        """The examples at `indices`, in that order."""
        chosen = list(indices)
        return RNAData(*([getattr(self, field.name)[s] for s in chosen] for field in fields(self)))


def load_rna(name: str) -> RNAData:
    """A set of RNA sequences with known secondary structures.

    Some are free for research only, and none may be downloaded: the files must lie in the data folder.

    Parameters
    ----------
    name : str
        - "s151rfam": 151 sequences, one from each of as many Rfam families, of Do, Woods & Batzoglou 2006
          and Do, Foo & Ng 2007; without pseudoknots.
        - "tornado_train_a" and "tornado_test_a": training set A (3166, S151Rfam among them) and test set A
          (697) of Rivas, Lang & Eddy 2012.
        - "rfam1359": 1359 sequences of the seed alignments of Rfam 14.9, at most four from a family; without
          pseudoknots. Split them by family.
        - "archiveii": 3975 sequences of ten families (Sloma & Mathews 2016); 795 of them are in
          "tornado_train_a".
        - "andronescu_test": 974 fragments of Andronescu et al. 2010.
        - "rna3db": 476 chains of solved structures of up to 300 bases (Szikszai et al. 2024), 45
          components of related ones; nested canonical pairs.

    Raises
    ------
    DatasetUnavailable
        The file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.
    """
    if name not in _FILES:
        raise DataError(f"found the data set {name!r}, expected one of {sorted(_FILES)}")
    return RNAData(*map(list, zip(*_rows(find(_FILES[name]), _COLUMNS), strict=True)))


@dataclass(frozen=True)
class ProbedData:
    """Sequences whose bases were probed; three lists of one length.

    Attributes
    ----------
    projects : list of str
        Designs of one project are alike.
    sequences : list of str
    reactivities : list of ndarray, shape (n_bases,)
        nan where there is none.
    """

    projects: list[str]
    sequences: list[str]
    reactivities: list[FloatArray]

    def __len__(self) -> int:
        return len(self.projects)


def load_probed() -> ProbedData:
    """Reactivities to 1M7 of 13,540 designed RNAs of Eterna's Cloud Labs (Wayment-Steele et al. 2022).

    The last 20 bases of each, where the primer binds, have none.

    Raises
    ------
    DatasetUnavailable
        As `load_rna`.
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
        raise DataError(f"{path}:1: found the columns {header}, expected {columns}")
    return rows
