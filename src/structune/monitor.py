"""What long work reports: its history, its progress on screen, and when to stop."""

from __future__ import annotations

import time
from typing import Any, Self

from structune.progress import Bars


class BudgetExhausted(Exception):  # noqa: N818
    """The time or iteration budget has run out."""


class FitStopped(Exception):  # noqa: N818
    """A fit inside longer work was cut short.

    Attributes
    ----------
    status : {"budget", "interrupted"}
    w : ndarray, shape (n_weights,)
        Its best iterate.
    """

    def __init__(self, status: str, w: Any) -> None:
        super().__init__(status, w)
        self.status, self.w = status, w


STOPS = (KeyboardInterrupt, BudgetExhausted, FitStopped)


def stop_status(stop: BaseException) -> str:
    """The status of work that one of `STOPS` ended."""
    if isinstance(stop, FitStopped):
        return stop.status
    return "budget" if isinstance(stop, BudgetExhausted) else "interrupted"


class Monitor:
    """Keeps the history, shows progress, and raises `BudgetExhausted` when the time is up.

    Work inside work may enter the same monitor again. Another process gets a silent one, with the time left.

    Parameters
    ----------
    verbose : int
        0 is silent; 1 shows progress bars on a terminal; 2 prints every record too.
    max_seconds : float, optional
        From the creation of the monitor.

    Attributes
    ----------
    history : list of dict
        A record per iteration.
    """

    def __init__(self, verbose: int = 0, max_seconds: float | None = None) -> None:
        self.verbose, self.max_seconds = verbose, max_seconds
        self.history: list[dict[str, Any]] = []
        self._start = time.perf_counter()
        self._bars: Bars | None = None
        self._depth = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def __enter__(self) -> Self:
        self._depth += 1
        if self.verbose and self._bars is None:
            self._bars = Bars()
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._bars is not None and not self._depth:
            self._bars.stop()
            self._bars = None

    def __reduce__(self) -> tuple[type[Monitor], tuple[int, float | None]]:
        left = None if self.max_seconds is None else max(0.0, self.max_seconds - self.seconds)
        return Monitor, (0, left)

    def record(self, stage: str, *, done: float | None = None, **values: Any) -> None:
        """Add a record to the history, and show it; `done` is the share of the work that lies behind."""
        self.history.append({"stage": stage, "seconds": self.seconds, **values})
        if self._bars is not None:
            self._bars.show_whole(stage, done, _line(values))
            if self.verbose > 1:
                self._bars.print(f"{stage}: {_line(values)} ({self.seconds:.1f} s)")

    def show(self, stage: str, *, done: float | None = None, **values: Any) -> None:
        """Show where a part of the work stands, without keeping it."""
        if self._bars is not None:
            self._bars.show_part(stage, done, _line(values))

    def check(self) -> None:
        """Raise `BudgetExhausted` if the time is up."""
        if self.max_seconds is not None and self.seconds > self.max_seconds:
            raise BudgetExhausted


def _line(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {v:.6g}" for name, v in values.items() if isinstance(v, int | float))
