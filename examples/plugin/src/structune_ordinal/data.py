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
        A file that is no table, without one of the columns, or with something other than numbers in them.
    """
    rows, labels = list[list[float]](), list[str]()
    for path in paths:
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                reader = csv.DictReader(file)
                columns = list(reader.fieldnames or [])
                names = [name for name in columns if name != label] if names is None else names
                _check_columns(path, columns, names)
                for line in reader:
                    where = f"{path}, line {reader.line_num}"
                    if None in line or None in line.values():
                        raise DataError(f"{where}: found a row of another length than the heading")
                    rows.append(list(_numbers(line, names, where)))
                    labels += [line[label]] if label in columns else []
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{path}: found no table of text ({error})") from None
    if not rows:
        raise DataError(f"{', '.join(map(str, paths))}: found no rows, expected at least one")
    return Table(list(names or ()), np.array(rows, dtype=float), labels)


def _check_columns(path: Path, columns: Sequence[str], names: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        raise DataError(f"{path}: found columns of the same name among {', '.join(columns)}")
    for name in names:
        if name not in columns:
            raise DataError(f"{path}: found no column {name!r}, expected {', '.join(names)}")


def _numbers(line: dict[str, str], names: Sequence[str], where: str) -> Iterator[float]:
    for name in names:
        try:
            yield float(line[name])
        except ValueError:
            raise DataError(f"{where}: found {name}={line[name]!r}, expected a number") from None


def require_labels(table: Table, label: str) -> Table:
    """The table, if all of its rows have labels."""
    if len(table.labels) != len(table.rows):
        raise DataError(f"found files without the column {label!r}, expected labels there")
    return table
