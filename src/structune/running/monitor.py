"""Monitoring of fits: their history, progress on the screen, and time limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import isfinite
from typing import Any, NamedTuple, Self

from structune.running.checkpoints import Checkpoint, Restored, State, digest
from structune.running.progress import Bars

_FIT, _SEARCH = "fit ", "search"


class BudgetExhausted(Exception):  # noqa: N818
    """The limit of time or iterations has been reached."""


class FitStopped(Exception):  # noqa: N818
    """A fit within a search was stopped: its status, "budget" or "interrupted", and best weights."""

    def __init__(self, status: str, w: Any) -> None:
        super().__init__(status, w)
        self.status, self.w = status, w


STOPPED = ("budget", "interrupted")  # statuses of work that was stopped early
STOPS = (KeyboardInterrupt, BudgetExhausted, FitStopped)


def stop_status(stop: BaseException) -> str:
    """The status of work that one of `STOPS` ended."""
    if isinstance(stop, FitStopped):
        return stop.status
    return "budget" if isinstance(stop, BudgetExhausted) else "interrupted"


class Monitor:
    """Records the history, shows progress, and raises `BudgetExhausted` when the time is up.

    A fit inside a search enters the same monitor again. A copy in another process is silent and has the
    remaining time.

    Parameters
    ----------
    verbose : int
        0 shows nothing; 1 shows progress bars on a terminal; 2 also prints every record.
    max_seconds : float, optional
        Time limit in seconds, counted from the creation of the monitor.
    """

    def __init__(self, verbose: int = 0, max_seconds: float | None = None) -> None:
        self.verbose, self.max_seconds = verbose, max_seconds
        self.history: list[dict[str, Any]] = []  # a record per iteration
        self.checkpoint: Checkpoint | None = None  # where work keeps its state
        self.passes: Any = None  # counts passes: those `spent`, to which it can `add` those of earlier work
        self.weights: Any = None  # those that the solver has just shown, if it has
        self.listener: Callable[[Monitor], None] | None = None  # is called after each record
        self._fits: list[str] = []  # whose states no search has replaced
        self._start, self._before = time.perf_counter(), 0.0
        self._bars: Bars | None = None
        self._depth = 0
        self._told_passes: Callable[[], float] | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def __enter__(self) -> Self:
        self._depth += 1
        if self.verbose and self._bars is None:
            self._bars = Bars()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._depth -= 1
        stopped = error is not None and issubclass(error, Exception | KeyboardInterrupt)
        if stopped and not self._depth and self.checkpoint is not None:
            self.checkpoint.write()
        if self._bars is not None and not self._depth:
            self._bars.stop()
            self._bars = None

    def __reduce__(self) -> tuple[type[Monitor], tuple[int, float | None]]:
        left = None if self.max_seconds is None else max(0.0, self.max_seconds - self.seconds)
        return Monitor, (0, left)

    def record(self, stage: str, *, done: float | None = None, **values: Any) -> None:
        """Add a record to the history, and show it; `done` is the completed share of the work."""
        self.history.append({"stage": stage, "seconds": self._before + self.seconds, **values})
        if self.listener is not None:
            self.listener(self)
        if self._bars is not None:
            self._bars.show_whole(stage, done, _line(values))
            if self.verbose > 1:
                self._bars.print(f"{stage}: {_line(values)} ({self.seconds:.1f} s)")

    def show(self, stage: str, *, done: float | None = None, weights: Any = None, **values: Any) -> None:
        """Show the progress of a part of the work; it is recorded only inside `recording`."""
        self.weights = weights
        if self._told_passes is not None and "objective" in values:
            known = {name: value for name, value in values.items() if isfinite(value)}
            self.record(stage, done=done, passes=self._told_passes(), **known)
        elif self._bars is not None:
            self._bars.show_part(stage, done, _line(values))

    @contextmanager
    def recording(self, passes: Callable[[], float]) -> Iterator[None]:
        """Record every objective that is shown inside the block, with the passes over the data so far."""
        self._told_passes = passes
        try:
            yield
        finally:
            self._told_passes = None

    def kept_fit(self, *given: Any) -> Kept:
        """The place for the state of a fit, with the state of an earlier run; `given` identifies the fit."""
        if self.checkpoint is None:
            return Kept()
        key = _FIT + digest(*given)
        self._fits.append(key)
        return Kept(self._restored(self.checkpoint, key), partial(self._keep, key))

    def kept_search(self, name: str) -> Kept:
        """The same for a search, whose states replace those of its fits."""
        if self.checkpoint is None:
            return Kept()
        key, n, checkpoint = f"{_SEARCH} {name}", len(self._fits), self.checkpoint

        def keep(state: Callable[[], State]) -> None:
            if self._time_is_up:
                return  # fits may have been cut short
            checkpoint.drop(self._fits[n:])
            del self._fits[n:]
            told = state()
            self._keep(key, lambda: told)

        return Kept(self._restored(checkpoint, key), keep)

    def _restored(self, checkpoint: Checkpoint, key: str) -> Restored | None:
        """The state of an earlier run, whose history, time and passes are added to this run."""
        state = checkpoint.restored(key)
        if state is None or not checkpoint.is_here:
            return state
        history, spent = state.entry("history", list), state.entry("passes", float)
        if not all(isinstance(record, dict) and "stage" in record for record in history):
            raise state.refuse("its history has an entry without a stage")
        self._before = max(self._before, state.entry("seconds", float))
        if len(history) >= len(self.history):  # states may be older than those of work inside
            self.history[:] = history
        if self.passes is not None:
            self.passes.add(max(0.0, spent - self.passes.spent))
        return state

    def _keep(self, key: str, state: Callable[[], State]) -> None:
        """Give the checkpoint a state, with the history, time and passes so far."""
        if self.checkpoint is None or not self.checkpoint.is_here:
            return
        # the history up to now: what is recorded later belongs to work that a killed process does again
        n, passes = len(self.history), 0.0 if self.passes is None else self.passes.spent
        work = {"seconds": self._before + self.seconds, "passes": passes}
        self.checkpoint.keep(key, lambda: {**state(), **work, "history": self.history[:n]})

    def check(self) -> None:
        if self._time_is_up:
            raise BudgetExhausted

    @property
    def _time_is_up(self) -> bool:
        return self.max_seconds is not None and self.seconds > self.max_seconds


class Kept(NamedTuple):
    """The state from an earlier run, if any, and the function that saves the current one."""

    state: Restored | None = None
    keep: Callable[[Callable[[], State]], None] = lambda _: None


def _line(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {v:.6g}" for name, v in values.items() if isinstance(v, int | float))
