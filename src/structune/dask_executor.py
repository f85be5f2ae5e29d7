"""Shards on the workers of a Dask cluster."""

from __future__ import annotations

import atexit
import logging
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from distributed import Client, Future, LocalCluster

from structune.blas import one_thread
from structune.errors import DataError
from structune.executors import Function

SCHEME = "dask"
_PATIENCE = 10  # seconds, for a scheduler to answer
_INLINE_BYTES = 1 << 12  # smaller arrays travel with each task


class DaskExecutor:
    """Calls functions on the workers of a Dask cluster.

    Everything that is placed or sent is the result of a task, so that what a lost worker had is computed
    again: shards of files are read again by another worker, all else comes from the scheduler.

    Sums add neighbours, then sums of neighbours, and so on, on the workers: one result comes back.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._placed: dict[int, Future] = {}  # by identity, while the item lives

    @property
    def n_workers(self) -> int:
        return sum(self.client.nthreads().values()) or 1

    def place(self, items: Iterable[Any]) -> list[Future]:
        """Futures of the items; what is placed again has the same one."""
        items = list(items)
        new = {id(item): item for item in items if not self._has(item)}
        for item, future in zip(new.values(), self._send(new.values()), strict=True):
            self._placed[id(item)] = future
            weakref.finalize(item, self._placed.pop, id(item), None).atexit = False
        return [self._placed[id(item)] for item in items]

    def _has(self, item: Any) -> bool:
        known = self._placed.get(id(item))
        return known is not None and known.status not in ("cancelled", "lost")

    def _send(self, values: Iterable[Any]) -> list[Future]:
        # never to given workers: tasks that were, wait forever if all workers die at once
        with warnings.catch_warnings():
            # that a task's arguments are large: they are what there is to be sent, once
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.map(_same, list(values), pure=False)  # type: ignore[no-any-return]

    def map(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Iterator[Any]:
        for future in self.keep(function, *columns, shared=shared):
            yield future.result()

    def keep(
        self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()
    ) -> Sequence[Future]:
        rows = list(zip(*columns, strict=True))
        large = iter(self._send(filter(_is_large, shared)))
        sent = [next(large) if _is_large(value) else value for value in shared]
        every = [[value] * len(rows) for value in (function, *sent)]
        items = zip(*rows, strict=True)
        return list(self.client.map(_call, every[0], *items, *every[1:], pure=False))

    def sum(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Any:
        level = self.keep(function, *columns, shared=shared)
        while len(level) > 1:
            added = self.client.map(_add, level[:-1:2], level[1::2], pure=False)
            level = [*added, *level[2 * len(added) :]]
        return level[0].result()

    def runs_whole(self, n_fits: int) -> bool:
        return n_fits > 1

    def __deepcopy__(self, memo: object) -> DaskExecutor:
        return self  # for clones of estimators


def connect(executor: Any, n_workers: int) -> DaskExecutor:
    """The executor of a client, of a scheduler's address, or of a cluster of local processes.

    Raises
    ------
    DataError
        Something else, or a scheduler that does not answer.
    """
    if isinstance(executor, Client):
        return DaskExecutor(executor)
    if executor == SCHEME:
        return _local(n_workers)
    if isinstance(executor, str) and executor.startswith(SCHEME + "://"):
        return _remote("tcp" + executor.removeprefix(SCHEME))
    raise DataError(
        f"executor={executor!r}: expected None, 'dask', 'dask://host:port', or a distributed.Client"
    )


@cache
def _local(n_workers: int) -> DaskExecutor:
    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=None,
        memory_limit=0,  # Dask would count the pages of shards that are mapped, and stop
        silence_logs=logging.ERROR,  # that workers lose what they have, when all of it ends
    )
    client = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(client.close)  # first
    return DaskExecutor(client)


@cache
def _remote(address: str) -> DaskExecutor:
    try:
        return DaskExecutor(Client(address, timeout=_PATIENCE))
    except (OSError, ValueError) as error:
        raise DataError(f"found no Dask scheduler at {address}: {error}") from None


# --- on the workers ---------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _call(function: Function, *arguments: Any) -> Any:
    with one_thread():
        return function(*arguments)


def _add(a: Any, b: Any) -> Any:
    # new arrays: a worker may need those that it has again
    return tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes > _INLINE_BYTES
