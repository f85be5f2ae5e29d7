"""Threads of the linear algebra library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_controller = cache(ThreadpoolController)
_lock = Lock()
_inside: list[Any] = []  # the limit in force, once for everyone who is inside


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread: on small matrices its threads only wait, and take the executor's cores.

    The limit holds for the whole process, from the first block that is entered to the last that is left.
    """
    # threads that overlap must not take each other's limit for the original one
    with _lock:
        _inside.append(_inside[0] if _inside else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()
