"""Ordinal labels on the command line: how tables are read, and how predictions are written.

Methods import heavy modules themselves, because structune imports this module for ``--help``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structune.cli.fields import option
from structune.cli.task import Examples, NoOptions, Task
from structune.errors import DataError

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune_ordinal.estimator import OrdinalClassifier
    from structune_ordinal.scores import OrdinalScores


@dataclass(frozen=True)
class Learning(NoOptions):
    """How training tables are read."""

    label: str = option("label", help="Column with the labels; all others are features.")
    order: str | None = option(None, help="Labels in ascending order, such as never,often.", panel="Model")


class OrdinalTask(Task):
    """Ordinal labels."""

    estimator = "structune_ordinal.estimator:OrdinalClassifier"
    learns = "to predict ordinal labels"
    files = "CSV files with a header."
    inputs = "CSV files with the columns of the training data; the label column may be missing."
    parts = "rows"
    learning_options = Learning
    predicts = ("Predict the label of each row of CSV files.", "Writes one label per line.")
    examples = (
        "structune train ordinal answers.csv --label answer --order never,often -m answers.structune",
        "structune tune ordinal answers.csv --label answer --order never,often -m answers.structune",
        "structune shard ordinal answers.csv shards/ --label answer --order never,often",
        "structune evaluate ordinal answers.structune more.csv",
        "structune predict answers.structune new.csv > labels.txt",
    )

    def prepare(self, model: OrdinalClassifier, learning: Learning) -> None:
        model.order = None if learning.order is None else learning.order.split(",")

    def read(self, files: Sequence[str], learning: Learning, model: OrdinalClassifier) -> Examples:
        rows, labels, names = _read(files, learning.label)
        told = f"{len(rows):,} rows, {len(names):,} features"
        return Examples((rows, labels), [("data", told)], {"names": names}, {"label": learning.label})

    def shard(
        self, files: Sequence[str], learning: Learning, model: Any, writer: ShardWriter, quiet: bool
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        from structune.files.shards import add_encoded

        examples = self.read(files, learning, model)
        extra, options = examples.header, examples.options
        return add_encoded(writer, model, *examples.data, extra=extra, **options), examples.told

    def read_known(self, files: Sequence[str], reading: Any, model: Any, header: Any) -> Iterable[Any]:
        yield _read(files, header["label"], getattr(model, "features_", None))

    def score(self, model: OrdinalClassifier, known: Iterable[Any], scoring: Any) -> OrdinalScores:
        from structune_ordinal.scores import OrdinalScores

        ((rows, labels, _),) = known
        return OrdinalScores.of(model, rows, labels)

    def predict(self, model: OrdinalClassifier, files: Sequence[str], predicting: Any) -> Iterator[str]:
        rows, _, _ = _read(files, model.extra_["label"], model.features_, has_labels=False)
        yield "".join(f"{label}\n" for label in model.predict(rows))


TASK = OrdinalTask()


def _read(
    files: Sequence[str], label: str, names: Sequence[str] | None = None, has_labels: bool = True
) -> tuple[Any, list[str], list[str]]:
    """Rows of features, their labels, and the names of the features; by default all other columns."""
    import numpy as np
    import pandas

    rows, labels = [], list[str]()
    for path in files:
        try:
            table = pandas.read_csv(path, dtype={label: str}, index_col=False)
            names = [name for name in table.columns if name != label] if names is None else names
            rows.append(table[list(names)].to_numpy(float))
            labels += table[label].tolist() if has_labels else []
        except KeyError as error:
            raise DataError(f"{path}: a column is missing: {error.args[0]}") from None
        except ValueError as error:  # of pandas, or of text among numbers
            raise DataError(f"{path}: {error}") from None
        for row in np.flatnonzero(~np.isfinite(rows[-1]).all(axis=1))[:1]:
            raise DataError(f"{path}, row {row + 1}: a number is missing, or not finite.")
    if not sum(map(len, rows)):
        raise DataError(f"{', '.join(files)}: no rows below the header.")
    return np.concatenate(rows), labels, list(names or ())
