"""CSV files: a row a line, features and perhaps a label."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structune.errors import DataError


@dataclass(frozen=True)
class Table:
    """Rows of features.

    Attributes
    ----------
    names : list of str
    rows : ndarray, shape (n_rows, n_features)
    labels : list of str
        Empty if they are not known.
    """

    names: list[str]
    rows: np.ndarray
    labels: list[str]


def read_tables(paths: Sequence[Path], label: str, names: Sequence[str] | None = None) -> Table:
    """The rows of files with the same columns.

    Parameters
    ----------
    label : str
        The column of the labels.
    names : sequence of str, optional
        The columns of the features; by default all others of the first file.

    Raises
    ------
    DataError
        A file without one of the columns, or with something other than numbers in them.
    """
    rows, labels = [], []
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            if names is None:
                names = [name for name in columns if name != label]
            for name in names:
                if name not in columns:
                    raise DataError(f"{path}: found no column {name!r}, expected {', '.join(names)}")
            for line in reader:
                rows.append(list(_numbers(line, names, f"{path}, line {reader.line_num}")))
                labels += [line[label]] if label in columns else []
    if not rows:
        raise DataError(f"{', '.join(map(str, paths))}: found no rows, expected at least one")
    return Table(list(names or ()), np.array(rows, dtype=float), labels)


def _numbers(line: dict[str, str], names: Sequence[str], where: str) -> Iterator[float]:
    for name in names:
        try:
            yield float(line[name])
        except (TypeError, ValueError):
            raise DataError(f"{where}: found {name}={line[name]!r}, expected a number") from None


def require_labels(table: Table, label: str) -> Table:
    """The table, if all of its rows have labels."""
    if len(table.labels) != len(table.rows):
        raise DataError(f"found files without the column {label!r}, expected labels there")
    return table
