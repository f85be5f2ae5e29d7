"""Commands of classifiers and regressors: how tables are read, and what is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from structune.cli.fields import option
from structune.cli.task import Examples, NoOptions, Task
from structune.cli.terminal import say
from structune.errors import DataError
from structune.files.text import plural

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.flat.report import RowReport
    from structune.flat.scores import ClassScores, NumberScores

_MANY_CLASSES = 50  # numbers; they may be quantities


@dataclass(frozen=True)
class Learning(NoOptions):
    """How tables are read for training."""

    target: str | None = option(
        None,
        metavar="NAME",
        help="Column to predict, in tables with a header. All other columns are features.",
    )
    drop: tuple[str, ...] = option(
        (),
        metavar="NAME",
        help="Name of a column to ignore, such as one with identifiers. May be given several times.",
    )


class FlatTask(Task):
    """Rows of features, from tables with a header or SVMlight files."""

    files = (
        "Tables with a header (.csv, .tsv, .parquet, .feather, .arrow; text also compressed), or SVMlight "
        "files with one example per line, such as '1 3:0.5 7:2': its class or number, then its features. In "
        "tables, each distinct text of a text column becomes a feature. In SVMlight files, missing features "
        "are 0."
    )
    inputs = "Files in the format of the training files; the column to predict may be missing."
    parts = "examples"
    learning_options = Learning
    only = {"target": ("train", "tune"), "drop": ("train", "tune")}  # noqa: RUF012
    penalties = ("penalty", "l1")
    methods = ("majorize", "implicit", "direct", "grid")

    def read(self, files: Sequence[str], learning: Learning, model: Any) -> Examples:
        from structune.flat.tables import has_header, read_svmlight, read_training_tables

        if any(map(has_header, files)):
            if not all(map(has_header, files)):
                raise DataError("Tables with a header and SVMlight files cannot be mixed.")
            layout, X, y = read_training_tables(files, learning.target, learning.drop)
            y = self.outputs_of_column(y, str(learning.target), files[0])
            texts = sum(texts is not None for texts in layout.columns.values())
            told = (
                f"{plural(len(y), 'example')}, {plural(len(layout.columns), 'column')}, of "
                f"which {texts:,} are text"
            )
            return Examples((X, y), [("data", told)], header=layout.header())
        for name, value in (("--target", learning.target), ("--drop", learning.drop)):
            if value:
                raise DataError(f"{name} works only for tables with a header, not for SVMlight files.")
        layout, X, y = read_svmlight(files)
        told = f"{plural(len(y), 'example')}, {plural(layout.n_features, 'feature')}"
        return Examples((X, self.outputs(y, files[0])), [("data", told)], header=layout.header())

    def shard(
        self, files: Sequence[str], learning: Learning, model: Any, writer: ShardWriter, quiet: bool
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        """Read SVMlight files twice, block by block: for features and outputs, and to encode."""
        import numpy as np
        import scipy

        from structune.flat.tables import SvmlightFiles

        svmlight, sizes, are_whole = SvmlightFiles(files), list[int](), True
        with TemporaryFile(dir=writer.path.parent) as file:  # in memory, outputs would grow with the data
            for _, y in svmlight.survey(quiet):
                are_whole &= bool(np.all(y == np.rint(y)))
                sizes.append(y.size)
                y.tofile(file)
            n_features = svmlight.layout.n_features

            def surveyed() -> Iterator[tuple[Any, Any]]:
                file.seek(0)
                for size in sizes:  # with features of 0: no survey looks at sparse ones
                    yield scipy.sparse.csr_array((size, n_features)), np.fromfile(file, np.float64, size)

            encoded = ((svmlight.counted(X), y) for X, y in svmlight.blocks(quiet, "shards"))
            # `write_blocks` calls `blocks` twice: for what all have, which outputs tell, and to encode
            passes = iter((surveyed(), encoded))

            def blocks() -> Iterator[tuple[Any, Any]]:
                for X, y in next(passes):
                    yield X, self.outputs(y, ", ".join(files), are_whole)

            written = model.write_blocks(blocks, writer, svmlight.layout.header())
        return written, [("data", f"{plural(len(written), 'example')} of {plural(n_features, 'feature')}")]

    def outputs(self, y: Any, name: str, are_whole: bool | None = None) -> Any:
        """Outputs of SVMlight files as `fit` takes them; `DataError` where no such model predicts them."""
        raise NotImplementedError

    def outputs_of_column(self, column: Any, name: str, path: str) -> Any:
        raise NotImplementedError

    def read_known(
        self, files: Sequence[str], reading: Any, model: Any, header: Any
    ) -> Iterable[tuple[str, Any, Any]]:
        from structune.flat.tables import Layout

        layout = Layout.of_header(header, "the model")
        for path, X, y in layout.read(files, with_outputs=True):
            if layout.target is None:
                yield path, X, self.outputs(y, path)
            else:
                yield path, X, self.outputs_of_column(y, layout.target, path)

    def predict(self, model: Any, files: Sequence[str], predicting: Any) -> Iterator[str]:
        return self._texts(model, files)

    def predict_and_report(
        self, model: Any, files: Sequence[str], predicting: Any
    ) -> tuple[Iterator[str], RowReport]:
        report = self.new_report(model)
        return self._texts(model, files, report), report

    def _texts(self, model: Any, files: Sequence[str], report: RowReport | None = None) -> Iterator[str]:
        """The table of predictions, which are added to the report."""
        from structune.flat.tables import Layout

        heading, n_before = "row\tprediction" + self.more_columns(model) + "\n", 0
        for _, X, _ in Layout.of_header(model.extra_, "the model").read(files, with_outputs=False):
            found = self.predictions(model, X)
            rows = enumerate(self.rows(*found), n_before + 1)
            yield heading + "".join(f"{number}\t{row}\n" for number, row in rows)
            if report is not None:
                report.add(X, *found)
            heading, n_before = "", n_before + X.shape[0]

    def warm(self) -> None:
        import numpy as np

        from structune.kinds import kind_of_place

        X = np.random.default_rng(0).normal(size=(40, 2))
        model = kind_of_place(self.estimator).estimator_class(tuning=None, n_jobs=1)
        model.fit(X, X[:, 0] > 0.0)  # classes, or the numbers 0 and 1

    def more_columns(self, model: Any) -> str:
        """Headings of what stands beside predictions, each after a tab."""
        return ""

    def predictions(self, model: Any, X: Any) -> tuple[Any, Any]:
        """Predictions, and probabilities if the model has any, else None."""
        return model.predict(X), None

    def rows(self, predicted: Any, probabilities: Any) -> Iterator[str]:
        """The line that is written of each example."""
        raise NotImplementedError

    def new_report(self, model: Any) -> RowReport:
        """A report about predictions of a model."""
        raise NotImplementedError


class ClassifierTask(FlatTask):
    estimator = "structune.flat.classifier:Classifier"
    learns = "to predict classes"
    parameters = ("loss", "fit_intercept")
    evaluates = "Shows the accuracy, the mean log loss, and the precision, recall and F1 of every class."
    predicts = (
        "Predict the class of each row of a table.",
        "Writes a tab-separated table: row number (from 1), predicted class, and the probability of this "
        "class if the model has probabilities.",
    )
    examples = (
        "structune train classifier train.csv --target species --model classifier.structune",
        "structune tune classifier train.csv --target species --model classifier.structune --test test.csv",
        "structune shard classifier train.svm shards/",
        "structune evaluate classifier classifier.structune test.csv",
        "structune predict classifier.structune new.csv > classes.tsv",
    )

    def outputs(self, y: Any, name: str, are_whole: bool | None = None) -> Any:
        import numpy as np

        values = np.asarray(y)
        if are_whole is None:
            are_whole = bool(np.all(values == np.rint(values)))
            self._tell_many(values, name)
        if not are_whole:
            raise _not_whole(name)
        return values.astype(np.int64)

    def outputs_of_column(self, column: Any, name: str, path: str) -> Any:
        import numpy as np
        import pandas

        from structune.flat.tables import classes_of

        numbers = np.asarray(pandas.to_numeric(column, errors="coerce"), np.float64)
        if np.isfinite(numbers).all():
            if not np.all(numbers == np.rint(numbers)):
                raise _not_whole(f"{path}: column {name!r}")
            self._tell_many(numbers, f"{path}: column {name!r}")
        return classes_of(column)

    @staticmethod
    def _tell_many(values: Any, name: str) -> None:
        import numpy as np

        if (n := np.unique(values).size) > _MANY_CLASSES:
            told = "each is a class: to predict numbers, use structune train regressor"
            say(f"{name} has {n:,} different numbers, and {told}")

    def score(self, model: Any, known: Iterable[Any], scoring: Any) -> ClassScores:
        from structune.flat.scores import ClassScores

        return ClassScores.of_blocks(model, known)

    def more_columns(self, model: Any) -> str:
        return "\tprobability" if model.has_probabilities else ""

    def predictions(self, model: Any, X: Any) -> tuple[Any, Any]:
        return model.predict(X), model.predict_proba(X) if model.has_probabilities else None

    def rows(self, predicted: Any, probabilities: Any) -> Iterator[str]:
        labels = map(str, predicted.tolist())
        if probabilities is None:
            return labels
        shares = probabilities.max(axis=1).tolist()
        return (f"{label}\t{share:.6g}" for label, share in zip(labels, shares, strict=True))

    def new_report(self, model: Any) -> RowReport:
        from structune.flat.report import ClassReport

        return ClassReport(model)


class RegressorTask(FlatTask):
    estimator = "structune.flat.regressor:Regressor"
    learns = "to predict numbers"
    parameters = ("fit_intercept",)
    evaluates = "Shows R2, the root mean square error and the mean absolute error."
    predicts = (
        "Predict a number for each row of a table.",
        "Writes a tab-separated table: row number (from 1) and prediction.",
    )
    examples = (
        "structune train regressor train.csv --target price --model regressor.structune",
        "structune tune regressor train.csv --target price --model regressor.structune --test test.csv",
        "structune shard regressor train.svm shards/",
        "structune evaluate regressor regressor.structune test.csv",
        "structune predict regressor.structune new.csv > prices.tsv",
    )

    def outputs(self, y: Any, name: str, are_whole: bool | None = None) -> Any:
        import numpy as np

        return np.asarray(y, np.float64)

    def outputs_of_column(self, column: Any, name: str, path: str) -> Any:
        import pandas

        from structune.flat.tables import numbers_of

        if pandas.to_numeric(column, errors="coerce").isna().all():
            told = "contains text: to predict classes, use structune train classifier."
            raise DataError(f"{path}: column {name!r} {told}")
        return numbers_of(column, name, path)

    def score(self, model: Any, known: Iterable[Any], scoring: Any) -> NumberScores:
        from structune.flat.scores import NumberScores

        return NumberScores.of_blocks(model, known)

    def rows(self, predicted: Any, probabilities: Any) -> Iterator[str]:
        return (f"{number:.6g}" for number in predicted.tolist())

    def new_report(self, model: Any) -> RowReport:
        from structune.flat.report import NumberReport

        return NumberReport(model)


def _not_whole(name: str) -> DataError:
    told = "contains numbers that are not whole: to predict numbers, use structune train regressor."
    return DataError(f"{name} {told}")


CLASSIFIER, REGRESSOR = ClassifierTask(), RegressorTask()
