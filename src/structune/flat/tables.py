"""Reading of feature tables for commands: SVMlight files, and tables with a header.

A `Layout` maps the columns of files to features. The model file keeps it, so that new files are read in the
same way.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy

from structune.cli.files import binary_source
from structune.cli.terminal import Progress, say
from structune.errors import DataError, ModelFileError, StructuneError
from structune.files.text import plural, some_of, unpacked, without_compression
from structune.flat.svmlight import read_svmlight_blocks
from structune.structure import Array, FloatArray

if TYPE_CHECKING:
    import pandas

_MOST_FEATURES, _MOST_FEATURES_A_VALUE = 1 << 24, 100
_MOST_WHOLE = 2.0**53  # of classes that are numbers
_MOST_VALUES = 100  # of a column of text; more are taken for names
_UNLIKE = 1e3  # spreads of columns, the largest beside the smallest, from which on it is told
_SHOWN = 5
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_BINARY = (".parquet", ".feather", ".arrow")


def has_header(path: str) -> bool:
    """Whether a file is a table with names of its columns, by the ending of its name."""
    return _ending(path) in (*_TEXT, *_BINARY)


def _ending(path: str) -> str:
    return Path(without_compression(path.lower())).suffix


@dataclass(frozen=True)
class Layout:
    """Which features a model has, and where files have them."""

    target: str | None = None  # the column of outputs; None of SVMlight files
    # the columns of features; of those that hold text, all texts, each of which is a feature
    columns: Mapping[str, list[str] | None] = field(default_factory=dict)
    first: int = 1  # of SVMlight files, the number of the first feature
    n_features: int = 0  # of SVMlight files

    def header(self) -> dict[str, Any]:
        return {"layout": {**vars(self), "columns": list(self.columns.items())}}

    @classmethod
    def of_header(cls, header: Mapping[str, Any], path: str) -> Self:
        try:
            given = dict(header["layout"])
            return cls(**{**given, "columns": dict(given["columns"])})
        except (LookupError, TypeError, ValueError):
            told = "the file does not say which columns are features"
            raise ModelFileError(f"{path}: {told}. Train the model with structune train or tune.") from None

    def read(self, paths: Sequence[str], with_outputs: bool) -> Iterator[tuple[str, Any, Any]]:
        """Name, features and outputs (None, if they are not wanted) of each file."""
        for path in paths:
            is_table = has_header(path)
            if self.target is not None:
                if path != "-" and not is_table:
                    raise DataError(f"{path}: the model was trained on tables. Give a table, such as .csv.")
                table = _read_table(path)
                X = self._features(table, path)
                yield path, X, _column(table, self.target, path) if with_outputs else None
                continue
            if is_table:
                raise DataError(f"{path}: the model was trained on SVMlight files. Give such a file.")
            found = list(read_svmlight_blocks(binary_source(path)))
            # a block is as wide as the highest feature in it; all are made as wide as the widest, then cut
            end = self.first + self.n_features
            width = max(end, *(rows.shape[1] for rows, _ in found))
            for rows, _ in found:
                rows.resize(rows.shape[0], width)
            X = scipy.sparse.vstack([rows for rows, _ in found], format="csr")
            if outside := X[:, : self.first].nnz + X[:, end:].nnz:
                say(f"{path}: ignored {plural(outside, 'value')} of features that the model does not have.")
            yield path, scipy.sparse.csr_array(X[:, self.first : end]), np.concatenate([y for _, y in found])

    def _features(self, table: pandas.DataFrame, path: str) -> pandas.DataFrame:
        import pandas

        made: dict[str, Any] = {}
        for name, texts in self.columns.items():
            column = _column(table, name, path)
            if texts is None:
                made[name] = numbers_of(column, name, path)
                continue
            made |= {f"{name}={text}": (column == text).to_numpy(np.float64) for text in texts}
            if others := sorted({*column} - {*texts}):
                n = int(column.isin(others).sum())
                some = some_of(others, _SHOWN)
                told = f"all features are 0 for {plural(n, 'value')} that training did not see"
                say(f"{path}, column {name!r}: {told}: {some}")
        return pandas.DataFrame(made)


def read_training_tables(
    paths: Sequence[str], target: str | None, dropped: Sequence[str]
) -> tuple[Layout, Any, Any]:
    """Read training tables with a header: their layout, features and outputs."""
    import pandas

    # What is a number is decided by all files together: a column of codes may look like numbers in one.
    tables = [_read_table(path) for path in paths]
    names = [*tables[0].columns]
    for path, other in zip(paths[1:], tables[1:], strict=True):
        if {*other.columns} != {*names}:
            unlike = sorted({*other.columns} ^ {*names})
            raise DataError(f"{path}: the columns differ from {paths[0]}: {some_of(unlike, _SHOWN)}")
    if target is None:
        some = some_of(names, _SHOWN)
        raise DataError(f"{paths[0]}: --target, the column to predict, is missing. Columns: {some}.")
    for option, name in (("--target", target), *(("--drop", each) for each in dropped)):
        if name not in names:
            raise DataError(f"{option} {name}: {paths[0]} has no such column. Columns: {some_of(names, 20)}.")
    if target in dropped:
        raise DataError(f"--drop {target} cannot be combined with --target {target}.")
    table, columns = pandas.concat(tables, ignore_index=True), dict[str, Any]()
    for name in (name for name in names if name not in (target, *dropped)):
        column = _column(table, name, ", ".join(paths))
        if _as_numbers(column).notna().all():
            columns[name] = None
            continue
        _refuse_commas(column, name, paths[0])
        texts = sorted({*column})
        if len(texts) > _MOST_VALUES:
            raise DataError(
                f"{paths[0]}: column {name!r} has {len(texts):,} different texts; at most {_MOST_VALUES} "
                f"can be features. If it only names the rows, ignore it with --drop {name}."
            )
        columns[name] = texts
    if not columns:
        raise DataError(f"{paths[0]}: there are no feature columns besides --target {target}.")
    # the features are made as prediction will make them
    layout = Layout(target, columns)
    X = layout._features(table, paths[0])
    # features of one group share a prior, so spreads that differ much hold some weights and free others
    found = [(float(X[name].std()), name) for name, texts in columns.items() if texts is None]
    spreads = sorted((one for one in found if one[0] > 0), key=itemgetter(0))
    if spreads and (times := spreads[-1][0] / spreads[0][0]) > _UNLIKE:
        say(
            f"{paths[0]}: {spreads[-1][1]!r} varies {times:,.0f} times as much as {spreads[0][1]!r}, "
            "and both share a regularization strength: scale the columns, or run tune with --groups feature"
        )
    return layout, X, _column(table, target, paths[0])


def numbers_of(column: pandas.Series, name: str, path: str) -> FloatArray:
    """A column of finite numbers, or an error that names the first row that has none."""
    import pandas

    numbers = np.asarray(pandas.to_numeric(column, errors="coerce"), np.float64)
    for row in np.flatnonzero(~np.isfinite(numbers))[:1]:
        _refuse_commas(column, name, path)
        value = column.iloc[row]
        raise DataError(f"{path}, row {row + 1}: {value!r} in column {name!r} is not a finite number.")
    return numbers


def classes_of(column: pandas.Series) -> Array:
    """Classes as text; whole numbers are written without a point, however each file writes them."""
    # "1" and "1.0" are one class; "01" stays text, as do numbers beyond 2^53, where doubles leave some out
    numbers = np.asarray(_as_numbers(column), np.float64)
    is_whole = np.isfinite(numbers) & (numbers == np.rint(numbers)) & (np.abs(numbers) < _MOST_WHOLE)
    texts = column.to_numpy(copy=True)
    texts[is_whole] = [str(int(number)) for number in numbers[is_whole]]
    return np.asarray(texts, dtype=str)


def _as_numbers(column: pandas.Series) -> pandas.Series:
    """The numbers of texts, nan of those that are none; codes such as 01 are none."""
    import pandas

    return pandas.to_numeric(column.where(~column.str.match(r"[+-]?0\d")), errors="coerce")


def _refuse_commas(column: pandas.Series, name: str, path: str) -> None:
    """Refuse numbers with commas, which would be taken for texts."""
    found = column[column.str.fullmatch(r"[+-]?[\d.]*\d,\d+")]
    # Most values look like 3,5 or 1.000,5. A few may be texts that happen to have commas.
    if 2 * len(found) > len(column):
        raise DataError(
            f"{path}: column {name!r} has numbers with commas, such as {found.iloc[0]!r}. Use a decimal "
            "point and no thousands separators."
        )


def _read_table(path: str) -> pandas.DataFrame:
    """A table of texts without white space around them: what is a number is decided by all files."""
    try:
        import pandas
    except ImportError:
        raise StructuneError("Tables with a header need pandas: pip install 'structune[tables]'") from None
    ending = ".csv" if path == "-" else _ending(path)
    try:
        if ending in _TEXT:
            table = _read_text(path, _TEXT[ending])
        else:
            read = pandas.read_parquet if ending == ".parquet" else pandas.read_feather
            whole = read(path).reset_index(drop=True)
            table = pandas.DataFrame({str(name): whole[name].astype(str) for name in whole.columns})
            table = table.where(whole.notna().to_numpy(), None)
    except OSError:
        raise
    except ImportError:
        raise StructuneError(
            f"{path}: this format needs pyarrow. Run pip install 'structune[tables]'."
        ) from None
    except Exception as error:  # of pandas and pyarrow there are many
        raise DataError(f"{path}: cannot be read as a table ({' '.join(str(error).split())})") from None
    if not len(table):
        raise DataError(f"{path}: the table has no rows below the header.")
    return table.apply(lambda column: column.str.strip())


def _read_text(path: str, separator: str) -> pandas.DataFrame:
    import pandas

    with contextlib.nullcontext(binary_source(path)) if path == "-" else open(path, "rb") as file:
        data = io.BytesIO(unpacked(file, path).read())
    options: dict[str, Any] = {"sep": separator, "dtype": str, "skipinitialspace": True}
    header = pandas.read_csv(data, header=None, nrows=1, keep_default_na=False, **options).iloc[0].tolist()
    if len(header) == 1 and ";" in header[0]:
        raise DataError("columns are separated by semicolons: use commas, or tabs in a .tsv file")
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise DataError(f"several columns have the same name: {some_of(twice, _SHOWN)}")
    # the header was read by itself, because pandas renames the second of two columns of one name
    data.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows of more fields than the header
        table = pandas.read_csv(data, index_col=False, **options)
    table.columns = [str(name).strip() for name in table.columns]
    return table


def _column(table: pandas.DataFrame, name: str, path: str) -> pandas.Series:
    """A column, in which nothing may be missing."""
    if name not in table.columns:
        raise DataError(f"{path}: there is no column {name!r}.")
    column = table[name]
    for row in np.flatnonzero(column.isna())[:1]:
        raise DataError(
            f"{path}, row {row + 1}: column {name!r} has no value (empty, NA, None and null count as "
            "missing). Fill in the value, delete the row, or ignore the column with --drop."
        )
    return column


# --- SVMlight ---------------------------------------------------------------------------------------------


def read_svmlight(paths: Sequence[str]) -> tuple[Layout, Any, FloatArray]:
    files = SvmlightFiles(paths)
    found = list(files.survey(quiet=True))
    X = scipy.sparse.vstack([files.counted(rows) for rows, _ in found], format="csr")
    return files.layout, X, np.concatenate([y for _, y in found])


class SvmlightFiles:
    """SVMlight files, whose features count from 0 if any line has that number, else from 1."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths, self.layout = paths, Layout()  # known after `survey`

    def survey(self, quiet: bool) -> Iterator[tuple[Any, FloatArray]]:
        """Features, counted as in the files, and outputs, block by block.

        Raises
        ------
        DataError
            In the end, if numbers that are not features would make too many of them.
        """
        # numbers of features become indices of weights: others would ask for more than memory holds
        first, end, n_values = 1, 0, 0
        for X, y in self.blocks(quiet, "features"):
            first, end = min(first, int(X.indices.min(initial=1))), max(end, X.shape[1])
            n_values += X.nnz
            yield X, y
        if end - first > max(_MOST_FEATURES, _MOST_FEATURES_A_VALUE * n_values):
            raise DataError(
                f"{', '.join(self.paths)}: feature number {end - 1:,} is too high for "
                f"{plural(n_values, 'value')}. Above {_MOST_FEATURES:,} features, at most "
                f"{_MOST_FEATURES_A_VALUE} per value are allowed. Number the features without large gaps."
            )
        self.layout = Layout(first=first, n_features=end - first)

    def blocks(self, quiet: bool, stage: str) -> Iterator[tuple[Any, FloatArray]]:
        with Progress(not quiet, stage=stage, unit="examples") as progress:
            for path in self.paths:
                for X, y in read_svmlight_blocks(path):
                    yield X, y
                    progress.advance(y.size)

    def counted(self, X: Any) -> Any:
        """The features of a block, of which the first gets the number 0."""
        parts = X.data, X.indices - np.int32(self.layout.first), X.indptr
        return scipy.sparse.csr_array(parts, shape=(X.shape[0], self.layout.n_features))
