"""Shards on the workers of a Dask cluster."""

from __future__ import annotations

import atexit
import logging
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Client, Future, LocalCluster

from structune.errors import DataError
from structune.running.blas import one_thread
from structune.running.executors import Function

SCHEME = "dask"
_PATIENCE = 10  # seconds, for a scheduler to answer
_INLINE_BYTES = 1 << 12  # smaller arrays travel with each task
_BLOCKS_PER_WORKER, _SUMMANDS = 2, 4


@dataclass(frozen=True)
class Part:
    """One of the values of a block, which a worker has as a list."""

    block: Future
    k: int
    n: int


class DaskExecutor:
    """Calls functions on the workers of a Dask cluster.

    Everything that is placed or sent is the result of a task, so that what a lost worker had is computed
    again: shards of files are read again by another worker, all else comes from the scheduler.

    Neighbours are placed as blocks, and a task works on a block: messages take milliseconds. Sums add the
    results of a block, then those of four neighbouring blocks, and so on, on the workers: one comes back.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._placed: dict[int, Part] = {}  # by identity, while the item lives

    @property
    def n_workers(self) -> int:
        return sum(self.client.nthreads().values()) or 1

    def place(self, items: Iterable[Any]) -> list[Part]:
        """Parts of blocks, a few a worker; what is placed again has the same part."""
        items = list(items)
        new = list({id(item): item for item in items if not self._has(item)}.values())
        bounds = np.linspace(0, len(new), 1 + min(len(new), _BLOCKS_PER_WORKER * self.n_workers)).astype(int)
        blocks = [new[a:b] for a, b in pairwise(bounds)]
        for block, future in zip(blocks, self._send(blocks), strict=True):
            for k, item in enumerate(block):
                self._placed[id(item)] = Part(future, k, len(block))
                weakref.finalize(item, self._placed.pop, id(item), None).atexit = False
        return [self._placed[id(item)] for item in items]

    def _has(self, item: Any) -> bool:
        known = self._placed.get(id(item))
        return known is not None and known.block.status not in ("cancelled", "lost", "error")

    def _send(self, values: Iterable[Any]) -> list[Future]:
        # never to given workers: tasks that were, wait forever if all workers die at once
        with warnings.catch_warnings():
            # that a task's arguments are large: they are what there is to be sent, once
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return list(self.client.map(_same, list(values), pure=False))

    def map(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Iterator[Any]:
        for future, _ in self._called(_each, function, columns, shared):
            yield from future.result()

    def keep(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> list[Part]:
        called = self._called(_each, function, columns, shared)
        return [Part(future, k, n) for future, n in called for k in range(n)]

    def sum(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Any:
        level = [future for future, _ in self._called(_total, function, columns, shared)]
        while len(level) > 1:
            groups = [level[k : k + _SUMMANDS] for k in range(0, len(level), _SUMMANDS)]
            level = [self.client.submit(_added, group, pure=False) for group in groups]
        return level[0].result()

    def _called(
        self, how: Function, function: Function, columns: Sequence[Iterable[Any]], shared: Sequence[Any]
    ) -> list[tuple[Future, int]]:
        """A task for every block of rows, and its number of rows."""
        lists = [list(values) for values in zip(*zip(*columns, strict=True), strict=True)]
        if not lists:
            return []
        rows = list(_blocks(lists[0]))
        blocks = [[self._values(values[block]) for block in rows] for values in lists]
        sent = [self._values([value]) for value in self._shared(shared)]
        every = [[value] * len(rows) for value in (function, len(columns))]
        futures = self.client.map(how, *every, *blocks, *([one] * len(rows) for one in sent), pure=False)
        return [(future, block.stop - block.start) for future, block in zip(futures, rows, strict=True)]

    def _shared(self, values: Sequence[Any]) -> Iterator[Any]:
        """Large arrays as parts: to be sent once, not with every task."""
        large = [value for value in values if isinstance(value, np.ndarray) and value.nbytes > _INLINE_BYTES]
        sent = iter(self._send([value] for value in large))
        return (Part(next(sent), 0, 1) if any(value is one for one in large) else value for value in values)

    def _values(self, values: list[Any]) -> Any:
        """A list as tasks take it: a block, or its values."""
        first = values[0]
        if isinstance(first, Part) and first.n == len(values) and len(list(_blocks(values))) == 1:
            return first.block
        return [self._picked(value) if isinstance(value, Part) else value for value in values]

    def _picked(self, part: Part) -> Future:
        return self.client.submit(_picked, part.block, part.k, pure=False)

    def runs_whole(self, n_fits: int) -> bool:
        return n_fits > 1

    def __deepcopy__(self, memo: object) -> DaskExecutor:
        return self  # for clones of estimators


def _blocks(values: Sequence[Any]) -> Iterator[slice]:
    """Runs of values that are a whole block, and single values."""
    at = 0
    while at < len(values):
        first = values[at]
        n = first.n if isinstance(first, Part) else 1
        wanted = [(id(first.block), k) for k in range(n)] if n > 1 else []
        found = [(id(v.block), v.k) for v in values[at : at + n] if isinstance(v, Part)]
        n = n if found == wanted else 1
        yield slice(at, at + n)
        at += n


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


def _results(function: Function, n_columns: int, lists: Sequence[list[Any]]) -> Iterator[Any]:
    """Results of a block's rows; what is shared comes as a list of one."""
    shared = [_aligned(one) for (one,) in lists[n_columns:]]
    with one_thread():
        for row in zip(*lists[:n_columns], strict=True):
            yield function(*map(_aligned, row), *shared)


def _each(function: Function, n_columns: int, *lists: list[Any]) -> list[Any]:
    return list(_results(function, n_columns, lists))


def _total(function: Function, n_columns: int, *lists: list[Any]) -> Any:
    return _added(_results(function, n_columns, lists))


def _added(parts: Iterable[Any]) -> Any:
    return reduce(_add, parts)


def _add(a: Any, b: Any) -> Any:
    # new arrays: a worker may need those that it has again
    return tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


def _picked(block: list[Any], k: int) -> Any:
    return block[k]


def _aligned(value: Any) -> Any:
    """Arrays come out of messages at any address, for which kernels would be compiled anew, and be slow."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.aligned else value
