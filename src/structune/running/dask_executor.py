"""Shards on the workers of a Dask cluster."""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Client, Future

from structune.running.blas import one_thread
from structune.running.dask_results import Results, check_versions, check_worker, own_versions

Function = Callable[..., Any]
_INLINE_BYTES = 1 << 12  # smaller arrays travel with each task
_PREFIX = "structune"  # of the names of tasks
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

    Attributes
    ----------
    n_workers : int
        When the executor was made: how sums are added depends on it, and must not on workers that die.

    Raises
    ------
    DataError
        Workers have other versions than this process.
    ClusterError
        No worker comes.
    """

    def __init__(self, client: Client) -> None:
        self.client, self.results = client, Results(client)
        self._placed: dict[int, tuple[Part, weakref.ref[Any]]] = {}  # by identity, while the item lives
        with self.results.connected():
            check_versions(client)
        if not self.results.n_threads():
            self.results.wait_for(self._send([None])[0])  # for which a cluster that adapts starts a worker
            with self.results.connected():
                check_versions(client)
        self.n_workers = self.results.n_threads() or 1

    def place(self, items: Iterable[Any]) -> list[Part]:
        """Parts of blocks, a few a worker; what is placed again has the same part."""
        items = list(items)
        new = list({id(item): item for item in items if not self._has(item)}.values())
        bounds = np.linspace(0, len(new), 1 + min(len(new), _BLOCKS_PER_WORKER * self.n_workers)).astype(int)
        blocks = [new[a:b] for a, b in pairwise(bounds)]
        executor = weakref.ref(self)  # which items may outlive

        def forget(_: Any, key: int) -> None:
            if (there := executor()) is not None:
                there._placed.pop(key, None)

        for block, future in zip(blocks, self._send(blocks), strict=True):
            for k, item in enumerate(block):
                reference = weakref.ref(item, partial(forget, key=id(item)))
                self._placed[id(item)] = Part(future, k, len(block)), reference
        return [self._placed[id(item)][0] for item in items]

    def _has(self, item: Any) -> bool:
        """Also what is lost with workers: that is made again."""
        if id(item) not in self._placed:
            return False
        return self._placed[id(item)][0].block.status not in ("cancelled", "error")

    def _send(self, values: Iterable[Any]) -> list[Future]:
        # never to given workers: tasks that were, wait forever if all workers die at once
        with warnings.catch_warnings():
            # that a task's arguments are large: they are what there is to be sent, once
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._tasks(_identity, list(values))

    def _tasks(self, function: Function, *columns: Sequence[Any]) -> list[Future]:
        with self.results.connected():
            # never pure: the same call may be asked for again after its result was lost
            checked = partial(_checked, own_versions(), function)
            return list(self.client.map(checked, *columns, key=_PREFIX + function.__name__, pure=False))

    def map(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Iterator[Any]:
        for future, _ in self._called(_map_rows, function, columns, shared):
            yield from self.results.wait_for(future)

    def keep(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> list[Part]:
        called = self._called(_map_rows, function, columns, shared)
        return [Part(future, k, n) for future, n in called for k in range(n)]

    def sum(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Any:
        # a tree that the number of blocks decides: whoever computes, sums are added in the same order
        level = [future for future, _ in self._called(_sum_rows, function, columns, shared)]
        while len(level) > 1:
            level = self._tasks(_added, [level[k : k + _SUMMANDS] for k in range(0, len(level), _SUMMANDS)])
        return self.results.wait_for(level[0])

    def _called(
        self, how: Function, function: Function, columns: Sequence[Iterable[Any]], shared: Sequence[Any]
    ) -> list[tuple[Future, int]]:
        """A task for every block of rows, and its number of rows."""
        # columns of rows, as tasks take them; zip twice checks that they are of one length
        lists = [list(values) for values in zip(*zip(*columns, strict=True), strict=True)]
        if not lists:
            return []
        # one message a block of rows: of values that are placed as a block its future, else the values
        rows = list(_blocks(lists[0]))
        blocks = [[self._values(values[block]) for block in rows] for values in lists]
        # large arrays as parts: to be sent once, not with every task
        large = [isinstance(value, np.ndarray) and value.nbytes > _INLINE_BYTES for value in shared]
        futures = iter(self._send([value] for value, is_large in zip(shared, large, strict=True) if is_large))
        sent = [
            next(futures) if is_large else self._values([value])
            for value, is_large in zip(shared, large, strict=True)
        ]
        every = [[value] * len(rows) for value in (function, len(columns))]
        called = self._tasks(how, *every, *blocks, *([one] * len(rows) for one in sent))
        return [(future, block.stop - block.start) for future, block in zip(called, rows, strict=True)]

    def _values(self, values: list[Any]) -> Any:
        """A list as tasks take it: a block, or its values."""
        first = values[0]
        if isinstance(first, Part) and first.n == len(values) and len(list(_blocks(values))) == 1:
            return first.block
        return [
            self._tasks(operator.getitem, [value.block], [value.k])[0] if isinstance(value, Part) else value
            for value in values
        ]

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


# --- on the workers ---------------------------------------------------------------------------------------


def _checked(versions: Mapping[str, str], function: Function, *values: Any) -> Any:
    check_worker(versions)  # here: workers join at any time
    return function(*values)


def _identity(value: Any) -> Any:
    return value


def _results(function: Function, n_columns: int, lists: Sequence[list[Any]]) -> Iterator[Any]:
    """Results of a block's rows; what is shared comes as a list of one."""
    shared = [_aligned(one) for (one,) in lists[n_columns:]]
    with one_thread():
        for row in zip(*lists[:n_columns], strict=True):
            yield function(*map(_aligned, row), *shared)


def _map_rows(function: Function, n_columns: int, *lists: list[Any]) -> list[Any]:
    return list(_results(function, n_columns, lists))


def _sum_rows(function: Function, n_columns: int, *lists: list[Any]) -> Any:
    return _added(_results(function, n_columns, lists))


def _added(parts: Iterable[Any]) -> Any:
    return reduce(_add, parts)


def _add(a: Any, b: Any) -> Any:
    # new arrays: a worker may need those that it has again
    return tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


def _aligned(value: Any) -> Any:
    """Arrays come out of messages at any address, for which kernels would be compiled anew, and be slow."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.aligned else value
