"""How every kind learns on the command line: checks, the fit, the model's file, and what is told of it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structune.cli.checks import INTERRUPTED, check_apart, check_targets, short_warnings
from structune.cli.reports import Evaluation, write_training_page
from structune.cli.settings import Results
from structune.cli.tables import precisions_table, print_tables, record_table
from structune.errors import StructuneError
from structune.kinds import kind_of
from structune.learning.constrained import ConstrainedEstimator
from structune.learning.estimator import StructuredEstimator
from structune.plots.learning import chosen_step
from structune.running.monitor import STOPPED


@dataclass(frozen=True)
class Lesson:
    """What a model learns from, once it has been read.

    Attributes
    ----------
    fit : function without arguments
        Fits the estimator.
    data : list of (str, str)
        What was read, as the table of the training tells it.
    evaluate : function without arguments, optional
        How good the fitted model is on the data of --test.
    extra : mapping, optional
        What the model's file keeps beside it.
    told : tuple of classes of warnings
        Those that `data` tells already.
    """

    fit: Callable[[], Any]
    data: list[tuple[str, str]]
    evaluate: Callable[[], Evaluation] | None = None
    extra: Mapping[str, Any] | None = None
    told: tuple[type[Warning], ...] = ()


def learn(
    model: StructuredEstimator,
    results: Results,
    sources: Iterable[Path | None],
    read: Callable[[], Lesson],
    plot: Path | None = None,
) -> int:
    """Fit, save, tell; returns the exit code, 130 after Ctrl-C.

    Parameters
    ----------
    model : StructuredEstimator
        What the lesson fits.
    results : Results
    sources : iterable of path, or None
        All that `read` reads.
    read : function without arguments
        Reads the data: after the check of what is to be written, and before the clock starts.
    plot : path, optional
        Where the course of tuning is drawn.
    """
    check_targets([results.model], [plot], results.report)
    check_apart(sources, [results.model, results.report, plot])
    kind_of(model)  # or nothing could be saved
    lesson, start = read(), time.perf_counter()
    with short_warnings(*lesson.told):
        lesson.fit()
    seconds = time.perf_counter() - start
    check_begun(model)
    save(model, results.model, lesson.extra)
    _tell(model, lesson, seconds, results, plot)
    return INTERRUPTED if model.status_ == "interrupted" else 0


def check_begun(model: StructuredEstimator) -> None:
    """Do not replace a model by one that has learned nothing."""
    if model.status_ in STOPPED and not model.coef_.any():
        raise StructuneError("stopped before there was anything to save")


def save(model: Any, path: Path, extra: Mapping[str, Any] | None = None) -> None:
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


def _tell(
    model: StructuredEstimator, lesson: Lesson, seconds: float, results: Results, plot: Path | None
) -> None:
    """What was learned and how good it is, as tables, drawings and a page."""
    record = record_table("Training", [*lesson.data, *_record(model, seconds, results.model)])
    sizes = model.group_sizes_
    print_tables(precisions_table(model.group_names_, sizes.tolist(), model.penalty_.tolist()), record)
    evaluation = None if lesson.evaluate is None else lesson.evaluate()
    if evaluation is not None:
        print_tables(*evaluation.tables())
    if plot is not None:
        _draw(model, plot)
    if results.report is not None:
        write_training_page(results.report, model, record, evaluation)


def _record(model: StructuredEstimator, seconds: float, path: Path) -> Iterator[tuple[str, str]]:
    yield "weights", f"{model.coef_.size:,}"
    yield "status", model.status_
    yield "passes over the data", f"{model.passes_:.1f}"
    yield "seconds", f"{seconds:.1f}"
    steps = [record for record in model.history_ if "heldout_loss" in record]
    if steps:
        chosen, first = (steps[k]["heldout_loss"] for k in (chosen_step(steps), 0))
        yield "held-out loss", f"{chosen:.6g}, from {first:.6g}"
    if isinstance(model, ConstrainedEstimator) and model.constraints is not None:
        values = ", ".join(f"{value:.3g}" for value in model.constraint_values_)
        yield "constraints", f"{values}, expected at most {model.gamma:g}"
    yield "saved", str(path)


def _draw(model: StructuredEstimator, path: Path) -> None:
    """Draw the course of tuning, and beside it the precisions."""
    from structune.plots import plot_penalties, plot_tuning

    if model.history_:
        plot_tuning(model.history_, model.group_names_, path)
    plot_penalties(model.penalty_, model.group_names_, path.with_stem(f"{path.stem}-precisions"))
