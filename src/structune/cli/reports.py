"""What all trainings share: checks before and after the work, warnings, and the report."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer
from rich.table import Table

from structune.cli.groups import asked
from structune.cli.tables import nodes_table, precisions_table, print_tables, record_table
from structune.errors import DataError, StructuneError
from structune.estimators.base import StructuredEstimator
from structune.monitor import STOPPED

if TYPE_CHECKING:
    from structune.estimators.multitask import MultitaskEstimator
    from structune.html_reports import Section

INTERRUPTED = 130
_PAGES = (".html", ".htm")


class Evaluation(Protocol):
    """How good predictions are, in three shapes."""

    def tables(self) -> list[Table]: ...
    def as_dict(self) -> Mapping[str, Any]: ...
    def sections(self) -> Iterable[Section]: ...


class Targets(Protocol):
    """Where a training puts its results."""

    @property
    def model(self) -> Path: ...
    @property
    def plot(self) -> Path | None: ...
    @property
    def report(self) -> Path | None: ...


def check_targets(
    files: Iterable[Path | None], plots: Iterable[Path | None], page: Path | None = None
) -> None:
    """Find before the work, not after it, what cannot be written."""
    drawn = [path for path in plots if path is not None]
    for path in filter(None, [*files, *drawn, page]):
        if not os.access(path.parent, os.W_OK) or path.is_dir():
            raise DataError(f"{path}: expected a file in a folder that exists and can be written to")
    for path in drawn:
        from structune.plots import check_path

        check_path(path)
    if page is not None:
        from structune.html_reports import check_installed

        if page.suffix.lower() not in _PAGES:
            raise DataError(f"{page}: expected a name that ends in .html")
        check_installed()


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


def tell(evaluation: Evaluation, as_json: bool, page: Path | None) -> None:
    """Print an evaluation, and write its page if there is to be one."""
    if as_json:
        typer.echo(json.dumps(evaluation.as_dict(), indent=2))
    else:
        print_tables(*evaluation.tables())
    if page is not None:
        _write_page(page, _evaluation_sections(evaluation))


def finish(
    model: StructuredEstimator,
    data: Iterable[tuple[str, str]],
    seconds: float,
    targets: Targets,
    evaluate: Callable[[], Evaluation] | None,
) -> int:
    """Tell what was learned, how good it is, and draw it; returns the exit code, 130 after Ctrl-C."""
    record = record_table("Training", [*data, *_record(model, seconds, targets.model)])
    sizes = model.group_sizes_
    print_tables(precisions_table(model.group_names_, sizes.tolist(), model.penalty_.tolist()), record)
    evaluation = None if evaluate is None else evaluate()
    if evaluation is not None:
        print_tables(*evaluation.tables())
    if targets.plot is not None:
        _draw(model, targets.plot)
    if targets.report is not None:
        _write_page(targets.report, _training_sections(model, record, evaluation))
    return INTERRUPTED if model.status_ == "interrupted" else 0


def finish_tree(
    model: MultitaskEstimator, data: Iterable[tuple[str, str]], seconds: float, targets: Targets
) -> None:
    """Tell the priors of the nodes of a tree, and what the training was."""
    tree, told, root = model.tree_, model.nodes_, model.model_
    record = record_table(
        "Training",
        [
            *data,
            ("weights of a node", f"{root.coef_.size:,}"),
            ("passes over the data", f"{root.passes_:.1f}"),
            ("seconds", f"{seconds:.1f}"),
            ("saved", str(targets.model)),
        ],
    )
    nodes = [(node, len(tree.path(node)) - 1, told[node]) for node in tree.nodes if node in told]
    print_tables(nodes_table(nodes), record)
    if targets.report is not None:
        _write_page(targets.report, _tree_sections(nodes_table(nodes, most=None), record))


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


def _draw(model: StructuredEstimator, path: Path) -> None:
    """Draw the course of tuning, and beside it the precisions."""
    from structune.plots import plot_penalties, plot_tuning

    if model.history_:
        plot_tuning(model.history_, model.group_names_, path)
    plot_penalties(model.penalty_, model.group_names_, path.with_stem(f"{path.stem}-precisions"))


# --- pages ------------------------------------------------------------------------------------------------


def _training_sections(
    model: StructuredEstimator, record: Table, evaluation: Evaluation | None
) -> Iterator[Section]:
    from structune.html_reports.training import training_sections

    yield _tables_section("Training", record)
    yield from training_sections(model)
    if evaluation is not None:
        yield from _evaluation_sections(evaluation)


def _tree_sections(nodes: Table, record: Table) -> Iterator[Section]:
    yield _tables_section("Training", record)
    yield _tables_section("Nodes of the tree", nodes)


def _evaluation_sections(evaluation: Evaluation) -> Iterator[Section]:
    yield _tables_section("Scores", *evaluation.tables())
    yield from evaluation.sections()


def _tables_section(title: str, *tables: Table) -> Section:
    from structune.html_reports import Section
    from structune.html_reports.tables import from_terminal

    blocks = [from_terminal(table) for table in tables]
    return Section(title, [replace(block, title="") if block.title == title else block for block in blocks])


def _write_page(path: Path, sections: Iterable[Section]) -> None:
    from structune.html_reports import write_page

    title, given = asked()
    options = _tables_section("Options", record_table("", given))
    write_page(path, title, [*sections, options])
    typer.echo(f"structune: wrote {path}", err=True)
