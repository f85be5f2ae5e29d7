"""Results of a Dask cluster whose workers die, come back, or have other versions than this process."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

from distributed import Client, Future, LocalCluster, get_worker
from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError
from distributed.versions import get_versions

from structune.errors import ClusterError, DataError, warn

_PATIENCE, _TOLD = 300.0, 10.0  # seconds without workers: until the end, until a warning
ALLOWED_FAILURES = "distributed.scheduler.allowed-failures"  # deaths of workers with a task; 3 by default
_PACKAGES = ("structune", "numba", "numpy")  # results depend on them, and what can be sent
_GLANCE = 2.0  # seconds between looks for workers
_GO_ON = "; a fit that is started again with the same checkpoint= (--resume) goes on where it was"


class Results:
    """Waits for the results of tasks, for as long as workers come back.

    `address` is that of the scheduler; `is_lost` says whether work could not go on.
    """

    def __init__(self, client: Client) -> None:
        self._client, self.address, self.is_lost = client, str(client.scheduler.address), False

    def wait_for(self, future: Future) -> Any:
        """The result of a task.

        Raises
        ------
        ClusterError
            The scheduler is lost, no worker comes back, all workers die with the task, or one that joined
            has other versions.
        """
        with self.connected():
            try:
                return self._waited(future)
            except KilledWorker as error:
                raise self.lost(
                    f"too many workers died with the same task ({error}). Give them more memory, or let the "
                    f"scheduler allow more deaths: {ALLOWED_FAILURES}"
                ) from None
            except (NoWorkerError, NoValidWorkerError, OtherVersionsError) as error:
                raise self.lost(str(error)) from None

    def _waited(self, future: Future) -> Any:
        since, is_told = float("inf"), False  # when the last worker was lost, if none is there
        # `Future.result` waits forever where no worker is left: here somebody looks every few seconds
        gathered = self._client.gather(future, asynchronous=True)
        result = asyncio.run_coroutine_threadsafe(gathered, self._client.loop.asyncio_loop)
        try:
            while not wait([result], _GLANCE).done:
                cluster = self._client.cluster
                if isinstance(cluster, LocalCluster):
                    # which gives up the processes that die while they start, or too often
                    cluster.scale(len(cluster.worker_spec))
                if self.n_threads():
                    since, is_told = float("inf"), False
                    continue
                since = min(since, time.monotonic())
                absent = time.monotonic() - since
                if absent >= _PATIENCE:
                    raise self.lost(f"found no worker for {_PATIENCE:g} s")
                if absent >= _TOLD and not is_told:
                    is_told = True
                    warn(f"{self.address}: found no worker, waits {_PATIENCE:g} s for one", RuntimeWarning)
            return result.result()
        finally:
            result.cancel()  # of no effect when it is there

    def n_threads(self) -> int:
        """Of all workers that are there."""
        with self.connected():
            return sum(self._client.nthreads().values())

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Raise ClusterError in place of what happens when the scheduler is gone, or another one."""
        try:
            yield
        except Exception as error:
            if isinstance(error, CancelledError) or self._client.status != "running":
                raise self.lost("lost the connection to the scheduler") from error
            raise

    def lost(self, found: str) -> ClusterError:
        """The error of a cluster on which work cannot go on."""
        self.is_lost = True
        return ClusterError(f"{self.address}: {found}{_GO_ON}")


class OtherVersionsError(Exception):
    """A worker that joined later was given work, and has other versions."""


def check_versions(client: Client) -> None:
    """Raise a `DataError` for workers or a scheduler with which results or messages may be others."""
    found = client.get_versions(packages=_PACKAGES)
    own, others = _versions(found["client"]), defaultdict(list)
    for where, told in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        for name, version in _versions(told).items():
            if version != own[name]:
                others[f"{name} {version}", f"{own[name]} as here"].append(where)
    if others:
        told = "; ".join(
            f"found {there} on {', '.join(places)}, expected {here}"
            for (there, here), places in others.items()
        )
        raise DataError(f"{client.scheduler.address}: {told}")


@cache
def own_versions() -> dict[str, str]:
    """Of this process."""
    return _versions(get_versions(_PACKAGES))


def check_worker(expected: Mapping[str, str]) -> None:
    """Refuse, on a worker, work of a process that has other versions, by an `OtherVersionsError`."""
    own = own_versions()
    if own != expected:
        told = ", ".join(
            f"{name} {own[name]}, expected {version} as here"
            for name, version in expected.items()
            if own[name] != version
        )
        raise OtherVersionsError(f"found a worker at {get_worker().address} with {told}")


def _versions(told: Mapping[str, Any]) -> dict[str, str]:
    packages = told["packages"]
    python = ".".join(packages["python"].split(".")[:2])  # the third number changes no results
    return {"python": python} | {name: packages.get(name) or "missing" for name in _PACKAGES}
