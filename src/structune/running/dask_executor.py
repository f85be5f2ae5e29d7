"""Execution on a Dask cluster, whose workers may die, come back, or have other versions."""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from functools import cache, partial, reduce
from itertools import groupby, pairwise
from threading import Lock, Thread
from typing import Any, NamedTuple

import dask
import numpy as np
from distributed import Client, Future, LocalCluster, get_worker
from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError
from distributed.versions import get_versions

from structune.errors import ClusterError, DataError, warn
from structune.running.blas import one_thread

Function = Callable[..., Any]
SCHEME = "dask"
ALLOWED_FAILURES = "distributed.scheduler.allowed-failures"  # deaths of workers with a task; 3 by default
_MOST_DEATHS = 100  # of local workers with the same task: shards live as long as a fit
_PACKAGES = ("structune", "numba", "numpy")  # results depend on them, and what can be sent
_ANSWER = 10  # seconds, for a scheduler to answer
_PATIENCE, _TOLD = 300.0, 10.0  # seconds without workers: until the end, until a warning
_GLANCE = 2.0  # seconds between looks for workers
_GO_ON = ". Start the fit again with the same checkpoint= (--resume) to continue it"
_INLINE_BYTES = 1 << 12  # smaller arrays travel with each task
_PREFIX = "structune"  # of the names of tasks
_BLOCKS_PER_WORKER, _SUMMANDS = 2, 4


class Part(NamedTuple):
    """Reference to a value in a block, which a worker holds as a list."""

    block: Future
    k: int


class DaskExecutor:
    """Executor that calls functions on the workers of a Dask cluster; workers may die and be replaced.

    If a worker is lost, its data are restored on another one: shards of folders are read again, all other
    data come from the scheduler.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster. The executor does not close it.

    Attributes
    ----------
    n_workers : int
        Number of threads of all workers at the start. The order of sums depends on it, not on lost workers.

    Raises
    ------
    DataError
        Workers have other versions of Python or packages than this process.
    ClusterError
        The cluster has no workers.
    """

    is_lost = False  # whether a fit has ended for want of the cluster

    def __init__(self, client: Client) -> None:
        self.client, self.address = client, str(client.scheduler.address)
        self._placed: dict[int, tuple[Part, weakref.ref[Any]]] = {}  # by identity, while the item lives
        with self._connected():
            check_versions(client)
        if not self._n_threads():
            self._wait_for(self._send([None])[0])  # for which a cluster that adapts starts a worker
            with self._connected():
                check_versions(client)
        self.n_workers = self._n_threads() or 1

    def place(self, items: Iterable[Any]) -> list[Part]:
        """Send items in a few blocks per worker; returns references. An item is sent only once."""
        # neighbours are placed as blocks, and a task works on a block: messages take milliseconds
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
                self._placed[id(item)] = Part(future, k), reference
        return [self._placed[id(item)][0] for item in items]

    def _has(self, item: Any) -> bool:
        """Also what is lost with workers: that is made again."""
        found = self._placed.get(id(item))
        return found is not None and found[0].block.status not in ("cancelled", "error")

    def _send(self, values: Iterable[Any]) -> list[Future]:
        """Values, each as the result of a task."""
        # never to given workers: tasks that were, wait forever if all workers die at once
        with warnings.catch_warnings():  # that a task's arguments are large: they are to be sent, once
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._tasks(_identity, list(values))

    def _tasks(self, function: Function, *columns: Sequence[Any]) -> list[Future]:
        """A task for every row of the columns, on workers of the same versions."""
        with self._connected():
            # never pure: the same call may be asked for again after its result was lost
            checked = partial(_checked, own_versions(), function)
            return list(self.client.map(checked, *columns, key=_PREFIX + function.__name__, pure=False))

    def map(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Iterator[Any]:
        for future, _ in self._called(function, columns, shared):
            yield from self._wait_for(future)

    def keep(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> list[Part]:
        called = self._called(function, columns, shared)
        return [Part(future, k) for future, n in called for k in range(n)]

    def sum(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Any:
        # Results of a block are added, then those of four neighbouring blocks, and so on, on the workers: a
        # tree that the number of blocks decides, so that sums are added in the same order, whoever computes.
        level = [future for future, _ in self._called(function, columns, shared, is_sum=True)]
        while len(level) > 1:
            level = self._tasks(_added, [level[k : k + _SUMMANDS] for k in range(0, len(level), _SUMMANDS)])
        return self._wait_for(level[0])

    def _called(
        self,
        function: Function,
        columns: Sequence[Iterable[Any]],
        shared: Sequence[Any],
        is_sum: bool = False,
    ) -> list[tuple[Future, int]]:
        """A task for each run of rows whose first values are in one block, and the number of rows."""
        rows = list(zip(*columns, strict=True))
        if not rows:
            return []
        # large arrays are sent once, not with every task
        large = [isinstance(value, np.ndarray) and value.nbytes > _INLINE_BYTES for value in shared]
        futures = iter(self._send([value] for value, is_large in zip(shared, large, strict=True) if is_large))
        one = [
            _place(Part(next(futures), 0) if is_large else value)
            for value, is_large in zip(shared, large, strict=True)
        ]
        runs = [
            [list(map(_place, row)) for row in run]
            for _, run in groupby(rows, lambda row: id(row[0].block if isinstance(row[0], Part) else row))
        ]
        n = len(runs)
        tasks = self._tasks(_results, [function] * n, runs, [one] * n, [is_sum] * n)
        return list(zip(tasks, map(len, runs), strict=True))

    # --- waiting --------------------------------------------------------------------------------------

    def _wait_for(self, future: Future) -> Any:
        """The result of a task; raises `ClusterError` if the cluster is lost or cannot run it."""
        with self._connected():
            try:
                return self._waited(future)
            except KilledWorker as error:
                raise self._lost(
                    f"too many workers died with the same task ({error}). Give them more memory, or raise "
                    f"the limit {ALLOWED_FAILURES} of the scheduler"
                ) from None
            except (NoWorkerError, NoValidWorkerError, OtherVersionsError) as error:
                raise self._lost(str(error)) from None

    def _waited(self, future: Future) -> Any:
        since, is_told = float("inf"), False  # when the last worker was lost, if none is there
        # `Future.result` waits forever where no worker is left: here somebody looks every few seconds
        gathered = self.client.gather(future, asynchronous=True)
        result = asyncio.run_coroutine_threadsafe(gathered, self.client.loop.asyncio_loop)
        try:
            while not wait([result], _GLANCE).done:
                cluster = self.client.cluster
                if isinstance(cluster, LocalCluster):
                    # which gives up the processes that die while they start, or too often
                    cluster.scale(len(cluster.worker_spec))
                if self._n_threads():
                    since, is_told = float("inf"), False
                    continue
                since = min(since, time.monotonic())
                absent = time.monotonic() - since
                if absent >= _PATIENCE:
                    raise self._lost(f"there was no worker for {_PATIENCE:g} s")
                if absent >= _TOLD and not is_told:
                    is_told = True
                    warn(
                        f"{self.address}: there is no worker; waiting up to {_PATIENCE:g} s for one",
                        RuntimeWarning,
                    )
            return result.result()
        finally:
            result.cancel()  # of no effect when it is there

    def _n_threads(self) -> int:
        with self._connected():
            return sum(self.client.nthreads().values())

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise ClusterError for errors that occur because the scheduler is gone or was replaced."""
        try:
            yield
        except Exception as error:
            if isinstance(error, CancelledError) or self.client.status != "running":
                raise self._lost("lost the connection to the scheduler") from error
            raise

    def _lost(self, found: str) -> ClusterError:
        self.is_lost = True
        return ClusterError(f"{self.address}: {found}{_GO_ON}")

    def runs_whole(self, n_fits: int) -> bool:
        return n_fits > 1


def _place(value: Any) -> tuple[Any, int]:
    """A value as tasks take it: a list that holds it, or the future of one, and its index there."""
    return (value.block, value.k) if isinstance(value, Part) else ([value], 0)


# --- connections: one an address, which ends when nobody uses it any more ---------------------------------

_locks: dict[str | int, Lock] = {}  # one a name: a cluster that starts slowly holds up none but its own users
_in_use: weakref.WeakValueDictionary[str | int, DaskExecutor] = weakref.WeakValueDictionary()
_last_local: list[DaskExecutor] = []  # kept: its processes take seconds to start
_to_close: set[Client] = set()


def connect(executor: Any, n_workers: int) -> DaskExecutor:
    """The executor of a client, of a scheduler's address, or of a cluster of local processes."""
    if isinstance(executor, Client):
        return DaskExecutor(executor)
    if executor == SCHEME:
        return _shared(n_workers, _local)
    if isinstance(executor, str) and executor.startswith(SCHEME + "://"):
        return _shared("tcp" + executor.removeprefix(SCHEME), _remote)
    raise DataError(
        f"executor={executor!r}: expected None, 'dask', 'dask://host:port', or a distributed.Client"
    )


def _local(n_workers: int) -> Client:
    with dask.config.set({ALLOWED_FAILURES: _MOST_DEATHS}):
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=0,  # Dask would count the pages of shards that are mapped, and stop
            silence_logs=logging.ERROR,  # that workers lose what they have, when all of it ends
        )
    return Client(cluster)


def _remote(address: str) -> Client:
    try:
        return Client(address, timeout=_ANSWER)
    except (OSError, ValueError) as error:
        raise DataError(f"there is no Dask scheduler at {address}: {error}") from None


def _shared(name: str | int, connected: Callable[[Any], Client]) -> DaskExecutor:
    """The executor of a connection, which ends with it; the one that is in use, if it can be used."""
    with _locks.setdefault(name, Lock()):
        found = _in_use.get(name)
        if found is None or found.client.status != "running" or found.is_lost:
            client = connected(name)
            _to_close.add(client)
            try:
                found = _in_use[name] = DaskExecutor(client)
            except BaseException:
                _close(client)
                raise
            # in a thread: garbage may be collected by the one that the connection needs
            closing = Thread(target=_close, args=(client,), daemon=True)
            weakref.finalize(found, closing.start).atexit = False
        if isinstance(name, int):
            _last_local[:] = [found]
        return found


def _close(client: Client) -> None:
    _to_close.discard(client)
    client.close()  # first
    if client.cluster is not None:
        client.cluster.close()


@atexit.register
def _close_all() -> None:
    for client in list(_to_close):
        _close(client)


# --- versions --------------------------------------------------------------------------------------------


class OtherVersionsError(Exception):
    """A worker with other versions joined the cluster and was given work."""


def check_versions(client: Client) -> None:
    """Raise a `DataError` if workers or scheduler have versions that may change results or messages."""
    found = client.get_versions(packages=_PACKAGES)
    own, others = _versions(found["client"]), defaultdict(list)
    for where, told in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        for name, version in _versions(told).items():
            if version != own[name]:
                others[f"{name} {version}", f"{own[name]} here"].append(where)
    if others:
        told = (f"{there} on {', '.join(at)}, but {here}" for (there, here), at in others.items())
        raise DataError(
            f"{client.scheduler.address}: versions differ: {'; '.join(told)}. "
            "Install the same versions on all machines."
        )


@cache
def own_versions() -> dict[str, str]:
    return _versions(get_versions(_PACKAGES))


def _versions(told: Mapping[str, Any]) -> dict[str, str]:
    packages = told["packages"]
    python = ".".join(packages["python"].split(".")[:2])  # the third number changes no results
    return {"python": python} | {name: packages.get(name) or "missing" for name in _PACKAGES}


# --- on the workers ---------------------------------------------------------------------------------------


def _checked(expected: Mapping[str, str], function: Function, *values: Any) -> Any:
    """Call a function on a worker, if it has the versions of the calling process."""
    own = own_versions()  # looked at here: workers join at any time
    if own != expected:
        unlike = [name for name in expected if own[name] != expected[name]]
        told = ", ".join(f"{name} {own[name]}, but {expected[name]} here" for name in unlike)
        raise OtherVersionsError(f"versions differ: the worker at {get_worker().address} has {told}")
    return function(*values)


def _identity(value: Any) -> Any:
    return value


def _results(function: Function, rows: list[Any], shared: list[Any], is_sum: bool) -> Any:
    """Results of rows, or their sum; values are given as lists with indices, shared values too."""
    more = [_aligned(values[k]) for values, k in shared]
    with one_thread():
        found = (function(*(_aligned(values[k]) for values, k in row), *more) for row in rows)
        return _added(found) if is_sum else list(found)


def _added(parts: Iterable[Any]) -> Any:
    return reduce(_add, parts)


def _add(a: Any, b: Any) -> Any:
    # new arrays: a worker may need those that it has again
    return tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


def _aligned(value: Any) -> Any:
    """Align arrays, as messages place them anywhere, and kernels would be compiled again and be slow."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.aligned else value
