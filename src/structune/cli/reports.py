"""What all trainings share: checks before and after the work, warnings, and the report."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from structune.cli.tables import nodes_table, precisions_table, print_tables, record_table
from structune.errors import DataError, StructuneError
from structune.estimators.base import StructuredEstimator
from structune.monitor import STOPPED

if TYPE_CHECKING:
    from structune.estimators.multitask import MultitaskEstimator

INTERRUPTED = 130


def check_targets(files: Iterable[Path | None], plots: Iterable[Path | None]) -> None:
    """Find before the work, not after it, what cannot be written."""
    drawn = [path for path in plots if path is not None]
    for path in [*filter(None, files), *drawn]:
        if not os.access(path.parent, os.W_OK) or path.is_dir():
            raise DataError(f"{path}: expected a file in a folder that exists and can be written to")
    for path in drawn:
        from structune.plots import check_path

        check_path(path)


def check_apart(sources: Iterable[str | Path], files: Iterable[Path | None]) -> None:
    """Do not write over what is read."""
    read = [source for source in sources if os.path.exists(source)]
    for path in filter(None, files):
        if path.exists() and any(path.samefile(source) for source in read):
            raise DataError(f"{path}: expected another file than the one that is read")


def check_begun(model: StructuredEstimator) -> None:
    """Do not replace a model by one that has learned nothing."""
    if model.status_ in STOPPED and not model.coef_.any():
        raise StructuneError("stopped before there was anything to save")


def save(
    model: StructuredEstimator | MultitaskEstimator, path: Path, extra: Mapping[str, Any] | None = None
) -> None:
    """Save, elsewhere if the disk is full; a checkpoint of work that is done is of no use then."""
    more = {} if extra is None else {"extra": extra}
    try:
        model.save(path, **more)
    except OSError as error:
        other = Path(tempfile.mkdtemp(prefix="structune-")) / path.name
        model.save(other, **more)
        raise StructuneError(
            f"{path}: {error.strerror or error}: the model is saved as {other} instead"
        ) from None
    if model.checkpoint is not None and model.checkpoint.is_done:
        model.checkpoint.remove()


@contextmanager
def short_warnings(*told: type[Warning]) -> Iterator[None]:
    """Warnings in one line, without the place in the code; none of those that are told otherwise."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: typer.echo(f"structune: {message}", err=True)
        for category in told:
            warnings.simplefilter("ignore", category)
        yield


def report(model: StructuredEstimator, data: Iterable[tuple[str, str]], seconds: float, path: Path) -> None:
    """Print the precisions, and what the training was."""
    sizes = model.group_sizes_
    print_tables(
        precisions_table(model.group_names_, sizes.tolist(), model.penalty_.tolist()),
        record_table("Training", [*data, *_record(model, seconds, path)]),
    )


def report_tree(
    model: MultitaskEstimator, data: Iterable[tuple[str, str]], seconds: float, path: Path
) -> None:
    """Print the priors of the nodes of a tree, and what the training was."""
    tree, told, root = model.tree_, model.nodes_, model.model_
    record = [
        ("weights of a node", f"{root.coef_.size:,}"),
        ("passes over the data", f"{root.passes_:.1f}"),
        ("seconds", f"{seconds:.1f}"),
        ("saved", str(path)),
    ]
    print_tables(
        nodes_table([(node, len(tree.path(node)) - 1, told[node]) for node in tree.nodes if node in told]),
        record_table("Training", [*data, *record]),
    )


def _record(model: StructuredEstimator, seconds: float, path: Path) -> Iterator[tuple[str, str]]:
    yield "weights", f"{model.coef_.size:,}"
    yield "status", model.status_
    yield "passes over the data", f"{model.passes_:.1f}"
    yield "seconds", f"{seconds:.1f}"
    losses = [record["heldout_loss"] for record in model.history_ if "heldout_loss" in record]
    if losses:
        yield "held-out loss", f"{min(losses):.6g}, from {losses[0]:.6g}"
    if model.constraints is not None:
        values = ", ".join(f"{value:.3g}" for value in model.constraint_values_)
        yield "constraints", f"{values}, expected at most {model.gamma:g}"
    yield "saved", str(path)


def draw(model: StructuredEstimator, path: Path) -> None:
    """Draw the course of tuning, and beside it the precisions."""
    from structune.plots import plot_penalties, plot_tuning

    if model.history_:
        plot_tuning(model.history_, model.group_names_, path)
    plot_penalties(model.penalty_, model.group_names_, path.with_stem(f"{path.stem}-precisions"))


def exit_code(model: StructuredEstimator) -> int:
    """130 after Ctrl-C."""
    return INTERRUPTED if model.status_ == "interrupted" else 0
