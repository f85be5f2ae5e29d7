"""How many threads the work at hand may use. This module does not import NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_cores: ContextVar[int] = ContextVar("cores", default=0)


def cores() -> int:
    """Number of threads that the work in this thread may use; 0 if nobody has said."""
    return _cores.get()


@contextmanager
def using_cores(n: int) -> Iterator[None]:
    """Let the work in this thread use `n` threads."""
    before = _cores.set(n)
    try:
        yield
    finally:
        _cores.reset(before)
