"""How many threads the work at hand may use. This module does not import NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_cores: ContextVar[int] = ContextVar("cores", default=1)


def cores() -> int:
    """Threads that the work in this thread may use: more than one if others have nothing to do."""
    return _cores.get()


@contextmanager
def all_cores(n: int) -> Iterator[None]:
    """Let the work in this thread use `n` threads."""
    before = _cores.set(n)
    try:
        yield
    finally:
        _cores.reset(before)
