"""How far the steps of long work are, for who shows it. Work tells it whether or not somebody looks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import NamedTuple


class Step(NamedTuple):
    """A step that a thread is in."""

    name: str  # at most 14 characters are shown
    done: Callable[[], float]  # the share of it that is done; other threads call it
    start: float  # when it began, by `time.monotonic`


_steps: dict[int, list[Step]] = {}  # by thread, the outermost first


@contextmanager
def step(name: str, done: Callable[[], float]) -> Iterator[None]:
    """Tell of a step as long as it goes on."""
    steps, own = _steps.setdefault(get_ident(), []), Step(name, done, time.monotonic())
    steps.append(own)
    try:
        yield
    finally:
        steps.remove(own)  # not always the last: that of a generator ends with it


def longest_step() -> Step | None:
    """Of the steps of all threads the one that began first."""
    innermost = [step for steps in list(_steps.values()) for step in steps[-1:]]
    return min(innermost, key=lambda step: step.start, default=None)
