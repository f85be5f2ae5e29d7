"""Results of a Dask cluster whose workers die and come back."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future
from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

from structune.errors import ClusterError, warn

_PATIENCE, _TOLD = 300.0, 10.0  # seconds without workers: until the end, until a warning
_GLANCE, _BRIEF = 2.0, 0.01  # seconds between looks for workers, and at what the scheduler has told
_MOST_DEATHS = 100  # of workers with one task, which then is to blame
_GO_ON = "; a fit that is started again with the same checkpoint= (--resume) goes on where it was"


class Results:
    """Waits for the results of tasks, for as long as workers come back.

    Dask gives a task up when some workers that had it have died, for whatever reason. Here it is begun again,
    whatever the settings of the cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self._client, self.address = client, str(client.scheduler.address)

    def of(self, future: Future) -> Any:
        """The result of a task.

        Raises
        ------
        ClusterError
            The scheduler is lost, no worker comes back, or the task kills all workers.
        """
        deaths, absence = Counter[Any](), _Absence(self)
        while True:
            with self.connected():
                try:
                    return self._waited(future, absence)
                except KilledWorker as error:
                    deaths[error.task] += 1
                    if deaths[error.task] == _MOST_DEATHS:
                        raise self.lost(
                            f"found that {_MOST_DEATHS} workers died with the same task, which may need more "
                            "memory than they have"
                        ) from None
                except (NoWorkerError, NoValidWorkerError):
                    absence.look()
                self._begin_again(future)

    def _waited(self, future: Future, absence: _Absence) -> Any:
        gathered = self._client.gather(future, asynchronous=True)
        result = asyncio.run_coroutine_threadsafe(gathered, self._client.loop.asyncio_loop)
        while not wait([result], _GLANCE).done:
            absence.look()
        return result.result()

    def _begin_again(self, future: Future) -> None:
        """A task that was given up, with those that it waits for."""
        # not `client.retry`, which fails for tasks whose futures are gone
        self._client.sync(self._client.scheduler.retry, keys=[future.key], client=self._client.id)
        end = time.monotonic() + _GLANCE
        while future.status == "error" and time.monotonic() < end:
            time.sleep(_BRIEF)

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
        return ClusterError(f"{self.address}: {found}{_GO_ON}")


class _Absence:
    """How long a cluster has been without workers."""

    def __init__(self, results: Results) -> None:
        self._results, self._told = results, False
        self._since: float | None = None

    def look(self) -> None:
        """Warn when there has been no worker for a while, and raise ClusterError when none will come."""
        if self._results.n_threads():
            self._since, self._told = None, False
            return
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= _PATIENCE:
            raise self._results.lost(f"found no worker for {_PATIENCE:g} s")
        if now - self._since >= _TOLD and not self._told:
            self._told = True
            warn(f"{self._results.address}: found no worker, waits {_PATIENCE:g} s for one", RuntimeWarning)
