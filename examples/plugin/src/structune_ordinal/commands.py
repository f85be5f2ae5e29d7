"""The commands of labels in an order.

What is heavy is imported by the functions: structune imports this module for ``--help``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structune.cli.settings import Results, Running, Sharding, Telling, Tuning, spread
from structune.errors import DataError

if TYPE_CHECKING:
    from structune_ordinal.data import Table
    from structune_ordinal.estimator import OrdinalClassifier

TrainFiles = Annotated[list[Path], typer.Argument(metavar="TRAIN", help="CSV files, or a folder of shards.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="CSV files.")]
Label = Annotated[str, typer.Option(help="The column of the labels; all others are features.")]
Order = Annotated[str | None, typer.Option(help="The labels, rising, such as never,sometimes,often.")]
TestFile = Annotated[Path | None, typer.Option("--test", help="CSV file to evaluate the model on.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that train or tune wrote.")]


@spread
def train(
    train: TrainFiles,
    results: Results,
    *,
    label: Label = "label",
    order: Order = None,
    penalty: Annotated[float, typer.Option(help="Precision of the prior of all weights.")] = 1.0,
    test: TestFile = None,
    running: Running,
) -> None:
    """Learn labels in an order, with a regularisation that you give.

    \b
    Example:
      structune train ordinal answers.csv --label answer --order never,often -m answers.structune
    """
    settings = {"penalty": penalty, **running.parameters(results)}
    raise typer.Exit(_learn(train, label, order, test, settings, results))


@spread
def tune(
    train: TrainFiles,
    results: Results,
    tuning: Tuning,
    *,
    label: Label = "label",
    order: Order = None,
    test: TestFile = None,
    running: Running,
) -> None:
    """Learn labels in an order, and the regularisation with them.

    \b
    Example:
      structune tune ordinal answers.csv --label answer --order never,often -m answers.structune
    """
    settings = tuning.parameters() | running.parameters(results)
    raise typer.Exit(_learn(train, label, order, test, settings, results, tuning.plot))


def _learn(
    train: list[Path],
    label: str,
    order: str | None,
    test: Path | None,
    settings: dict[str, Any],
    results: Results,
    plot: Path | None = None,
) -> int:
    from structune.cli.learning import Lesson, learn
    from structune.cli.shard_data import described, sharded
    from structune.files import open_shards
    from structune_ordinal.data import read_tables, require_labels
    from structune_ordinal.estimator import OrdinalClassifier
    from structune_ordinal.evaluation import evaluate

    model = OrdinalClassifier(order=_labels(order), **settings)

    def read() -> Lesson:
        fit: Callable[[], Any]
        shards, column = sharded(train, "--label", "--order"), label
        if shards is not None:
            known = open_shards(shards).model
            fit, data = partial(model.fit_shards, shards), described(shards, "rows")
            names, column = known.features_, str(known.extra_["label"])
        else:
            table = require_labels(read_tables(train, column), column)
            fit, data = partial(model.fit, table.rows, table.labels, table.names), _described(table)
            names = table.names
        tested = require_labels(read_tables([test], column, names), column) if test else None
        told = partial(evaluate, model, tested) if tested else None
        return Lesson(fit, [("data", data)], told, {"label": column})

    return learn(model, results, [*train, test], read, plot)


@spread
def shard(train: TrainFiles, sharding: Sharding, label: Label = "label", order: Order = None) -> None:
    """Encode rows as a folder that train and tune can read.

    \b
    Example:
      structune shard ordinal answers.csv shards/ --label answer --order never,often
      structune tune ordinal shards/ -m answers.structune
    """
    from structune.cli.shard_data import Target
    from structune.files import write_shards
    from structune_ordinal.data import read_tables, require_labels
    from structune_ordinal.estimator import OrdinalClassifier

    target, table = Target(sharding), require_labels(read_tables(train, label), label)
    written = write_shards(
        OrdinalClassifier(order=_labels(order)),
        sharding.folder,
        table.rows,
        table.labels,
        names=table.names,
        n_folds=sharding.folds,
        random_state=sharding.seed,
        extra={"label": label},
    )
    target.tell(written, _described(table))


@spread
def evaluate(model: ModelArgument, files: Files, telling: Telling) -> None:
    """Compare labels with those that are right.

    \b
    Example:
      structune evaluate ordinal answers.structune more.csv
    """
    from structune.cli.reports import tell
    from structune_ordinal.data import read_tables, require_labels
    from structune_ordinal.evaluation import evaluate

    found, label = _open(model)
    tell(evaluate(found, require_labels(read_tables(files, label, found.features_), label)), telling)


def grade(model: ModelArgument, files: Files) -> None:
    """Write a label for each row of CSV files.

    \b
    Example:
      structune grade answers.structune new.csv > grades.txt
    """
    from structune_ordinal.data import read_tables

    found, label = _open(model)
    for grade in found.predict(read_tables(files, label, found.features_).rows):
        typer.echo(grade)


def _open(path: Path) -> tuple[OrdinalClassifier, str]:
    """A model, and the column of its labels."""
    from structune import load
    from structune_ordinal.estimator import OrdinalClassifier

    model = load(path)
    if not isinstance(model, OrdinalClassifier):
        raise DataError(f"{path}: found a {type(model).__name__}, expected a model of the kind ordinal")
    return model, str(model.extra_.get("label", "label"))


def _labels(order: str | None) -> list[str] | None:
    return None if order is None else order.split(",")


def _described(table: Table) -> str:
    return f"{len(table.rows):,} rows, {len(table.names):,} features"
