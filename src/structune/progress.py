"""Progress bars on standard error."""

from __future__ import annotations

from typing import Any


class Bars:
    """One bar for the work as a whole, and one for the part of it that is going on.

    A bar without a share of what is done moves to and fro. Nothing moves where there is no terminal.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description:>13}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.fields[line]}"),
        )
        console = Console(stderr=True)
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._whole, self._part = (
            self._progress.add_task("", total=None, visible=False, line="") for _ in range(2)
        )
        self._progress.start()

    def stop(self) -> None:
        self._progress.stop()

    def show_whole(self, stage: str, done: float | None, line: str) -> None:
        self._show(self._whole, stage, done, line)

    def show_part(self, stage: str, done: float | None, line: str) -> None:
        self._show(self._part, stage, done, line)

    def print(self, line: str) -> None:
        """A line that stays."""
        self._progress.console.print(line, highlight=False, markup=False)

    def _show(self, task: Any, stage: str, done: float | None, line: str) -> None:
        total = None if done is None else 1.0
        self._progress.update(
            task, description=stage, total=total, completed=done or 0.0, line=line, visible=True
        )
