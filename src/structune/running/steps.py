"""How far the steps of long work are, for who shows it. Work tells it whether or not somebody looks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import NamedTuple


class Step(NamedTuple):
    """A step that a thread is in.

    Attributes
    ----------
    name : str
        At most 14 characters are shown.
    done : function
        The share of it that is done; other threads call it.
    start : float
        When it began, by `time.monotonic`.
    """

    name: str
    done: Callable[[], float]
    start: float


_steps: dict[int, Step] = {}  # by thread


@contextmanager
def step(name: str, done: Callable[[], float]) -> Iterator[None]:
    """Tell of a step as long as it goes on."""
    thread = get_ident()
    outer = _steps.get(thread)
    _steps[thread] = Step(name, done, time.monotonic())
    try:
        yield
    finally:
        if outer is None:
            _steps.pop(thread, None)
        else:
            _steps[thread] = outer


def longest_step() -> Step | None:
    """Of the steps of all threads the one that began first."""
    return min(list(_steps.values()), key=lambda step: step.start, default=None)
