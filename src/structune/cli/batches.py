"""Items up to an error, and how many are done."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from threading import Event, Thread
from typing import Generic, Self, TypeVar

from structune.errors import StructuneError
from structune.running.progress import Bars
from structune.running.steps import longest_step

T = TypeVar("T")
_SOON, _LOOK = 3.0, 0.5  # seconds: steps that take less are not shown; how often is looked


class UntilError(Generic[T]):
    """Items up to the first that cannot be read; its error is kept for later."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._error: StructuneError | OSError | None = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return next(self._items)
        except (StructuneError, OSError) as error:
            self._error = error
            raise StopIteration from None

    def check(self) -> None:
        """Raise the error."""
        if self._error is not None:
            raise self._error


def time_in_words(minutes: float) -> str:
    """About how long it takes."""
    return f"{max(2, round(minutes))} minutes" if minutes < 100 else f"{round(minutes / 60)} hours"


class Progress:
    """Count and rate of items on standard error, if that is a terminal; and what takes some seconds of one.

    Parameters
    ----------
    shown : bool
    total : int, optional
        Number of items.
    stage, unit : str
        What is done, and to what.
    digits : int
        Of the count, behind the point.
    """

    def __init__(
        self,
        shown: bool,
        total: int | None = None,
        *,
        stage: str = "fold",
        unit: str = "sequences",
        digits: int = 0,
    ) -> None:
        self.count, self._total, self._stage, self._unit, self._digits = 0.0, total, stage, unit, digits
        self._bars = Bars() if shown and sys.stderr.isatty() else None
        self._start, self._ended = time.perf_counter(), Event()

    def __enter__(self) -> Self:
        self.advance(0)
        if self._bars is not None:
            Thread(target=self._show_steps, args=(self._bars,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._bars is not None:
            self._bars.stop()

    def _show_steps(self, bars: Bars) -> None:
        """The step of an example that has taken long, while it goes on."""
        while not self._ended.wait(_LOOK):
            step = longest_step()
            if step is None or time.monotonic() - step.start < _SOON:
                bars.hide_part()
            else:
                done = step.done()
                bars.show_part(step.name, done, f"{done:.0%} of this step")

    def advance(self, count: float) -> None:
        """So many more are done."""
        self.count += count
        if self._bars is not None:
            rate = self.count / max(time.perf_counter() - self._start, 1e-9)
            done = None if self._total is None else self.count / self._total
            line = f"{self.count:,.{self._digits}f} {self._unit}, {rate:,.{max(1, self._digits)}f} a second"
            self._bars.show_whole(self._stage, done, line)
