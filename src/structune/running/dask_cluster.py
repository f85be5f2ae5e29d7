"""Connections to Dask clusters: one an address, which ends when nobody uses it any more."""

from __future__ import annotations

import atexit
import logging
import weakref
from threading import Lock, Thread
from typing import Any

import dask
from distributed import Client, LocalCluster

from structune.errors import DataError
from structune.running.dask_executor import DaskExecutor
from structune.running.dask_results import ALLOWED_FAILURES

SCHEME = "dask"
_MOST_DEATHS = 100  # of local workers with the same task: shards live as long as a fit
_PATIENCE = 10  # seconds, for a scheduler to answer

_locks: dict[str | int, Lock] = {}  # one a name: a cluster that starts slowly holds up none but its own users
_in_use: weakref.WeakValueDictionary[str | int, DaskExecutor] = weakref.WeakValueDictionary()
_last_local: list[DaskExecutor] = []  # kept: its processes take seconds to start
_to_close: set[Client] = set()


def connect(executor: Any, n_workers: int) -> DaskExecutor:
    """The executor of a client, of a scheduler's address, or of a cluster of local processes.

    Raises
    ------
    DataError
        Something else, a scheduler that does not answer, or workers with other versions.
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


def _local(n_workers: int) -> DaskExecutor:
    with _locks.setdefault(n_workers, Lock()):
        found = _known(n_workers)
        if found is None:
            with dask.config.set({ALLOWED_FAILURES: _MOST_DEATHS}):
                cluster = LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    memory_limit=0,  # Dask would count the pages of shards that are mapped, and stop
                    silence_logs=logging.ERROR,  # that workers lose what they have, when all of it ends
                )
            found = _owned(n_workers, Client(cluster))
        _last_local[:] = [found]
        return found


def _remote(address: str) -> DaskExecutor:
    with _locks.setdefault(address, Lock()):
        found = _known(address)
        if found is not None:
            return found
        try:
            client = Client(address, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise DataError(f"found no Dask scheduler at {address}: {error}") from None
        return _owned(address, client)


def _known(name: str | int) -> DaskExecutor | None:
    found = _in_use.get(name)
    usable = found is not None and found.client.status == "running" and not found.results.is_lost
    return found if usable else None


def _owned(name: str | int, client: Client) -> DaskExecutor:
    """The executor of a connection that ends with it."""
    _to_close.add(client)
    try:
        executor = _in_use[name] = DaskExecutor(client)
    except BaseException:
        _close(client)
        raise
    # in a thread: garbage may be collected by the one that the connection needs
    closing = Thread(target=_close, args=(client,), daemon=True)
    weakref.finalize(executor, closing.start).atexit = False
    return executor


def _close(client: Client) -> None:
    _to_close.discard(client)
    client.close()  # first
    if client.cluster is not None:
        client.cluster.close()


@atexit.register
def _close_all() -> None:
    for client in list(_to_close):
        _close(client)
