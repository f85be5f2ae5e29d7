"""Threads of the linear algebra library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = []  # of the limits in force the first, and None for those within or beside it


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """No threads of BLAS: on small matrices they wait for each other, and they take the executor's cores.

    The limit is that of the process, set by the first to enter and lifted by the last to leave.
    """
    with _lock:
        _inside.append(None if _inside else _controller().limit(limits=1, user_api="blas"))
        if _inside[0] is not None and len(_inside) == 1:
            _inside[0].__enter__()
    try:
        yield
    finally:
        with _lock:
            if len(_inside) > 1:
                _inside.pop()
            else:
                _inside.pop().__exit__(None, None, None)
