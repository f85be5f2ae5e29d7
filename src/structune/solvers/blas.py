"""Threads of the linear algebra library."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """No threads of BLAS: on small matrices they wait for each other, and they take the executor's cores."""
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]
