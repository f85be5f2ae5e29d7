"""Progress bars on standard error, and the progress of long steps. This module does not import NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import NamedTuple


class Bars:
    """Two progress bars on a terminal: for the whole work, and for its current part."""

    shown: Bars | None = None  # those on the terminal now

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(width=13, no_wrap=True, justify="right")),
            BarColumn(None, table_column=Column(width=20)),
            TimeElapsedColumn(table_column=Column(width=7)),
            TextColumn("{task.fields[line]}", table_column=Column(ratio=1, no_wrap=True)),
            console=console,
            expand=True,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not console.is_terminal,
        )
        for _ in range(2):
            self._progress.add_task("", total=None, visible=False, line="")
        self._progress.start()
        Bars.shown = self

    def stop(self) -> None:
        self._progress.stop()
        Bars.shown = None

    def show_whole(self, stage: str, done: float | None, line: str) -> None:
        self._show(0, stage, done, line)

    def show_part(self, stage: str, done: float | None, line: str) -> None:
        self._show(1, stage, done, line)

    def hide_part(self) -> None:
        self._progress.update(self._progress.tasks[1].id, visible=False)

    def print(self, line: str) -> None:
        """Print a line that stays above the bars."""
        self._progress.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _show(self, row: int, stage: str, done: float | None, line: str) -> None:
        task = self._progress.tasks[row]
        total, completed = (None, 0.0) if done is None else (1.0, done)
        if (task.description, task.total) != (stage, total) or completed < task.completed:
            task.total = total
            self._progress.reset(task.id, description=stage, line=line)  # its clock too
        self._progress.update(task.id, completed=completed, line=line, visible=True)


class Step(NamedTuple):
    name: str  # at most 14 characters are shown
    done: Callable[[], float]  # the share of it that is done; other threads call it
    start: float  # when it began, by `time.monotonic`


_steps: dict[int, list[Step]] = {}  # by thread, the outermost first


@contextmanager
def step(name: str, done: Callable[[], float]) -> Iterator[None]:
    """Register a step while its block runs."""
    steps, own = _steps.setdefault(get_ident(), []), Step(name, done, time.monotonic())
    steps.append(own)
    try:
        yield
    finally:
        steps.remove(own)  # not always the last: that of a generator ends with it


def longest_step() -> Step | None:
    """The innermost step, over all threads, that began first."""
    innermost = [step for steps in list(_steps.values()) for step in steps[-1:]]
    return min(innermost, key=lambda step: step.start, default=None)
