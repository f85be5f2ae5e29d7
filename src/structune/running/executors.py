"""Execution of work on shards: by threads, or on a cluster (`running.dask_executor`)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from structune.errors import DataError
from structune.running.cores import cores, using_cores

if TYPE_CHECKING:
    from structune.running.checkpoints import Checkpoint
    from structune.running.monitor import Monitor

Function = Callable[..., Any]
_CELLS_PER_PIECE = 1 << 16
_AT_A_TIME = 16
_FITS_PER_THREAD = 4  # with fewer, threads that are done wait for those that are not
_MOST_THREADS = 1024  # whatever a model file asks for


class Executor(Protocol):
    """Protocol of executors, which call a function for every shard or every independent fit.

    The function is called as ``function(*items, *shared)``, with one item of each column. A column is a
    sequence of values, or of references that `place` or `keep` returned. The function must not change its
    arguments. If the executor uses other machines, function and values must be picklable.
    """

    @property
    def n_workers(self) -> int:
        """Number of calls that run at the same time."""

    def place(self, items: Iterable[Any]) -> Sequence[Any]:
        """Send items to the workers once; returns references to them."""

    def map(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Iterator[Any]:
        """Call the function for each row of the columns; yields the results in order."""

    def keep(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Sequence[Any]:
        """Like `map`, but results stay on the workers; returns references to them."""

    def sum(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Any:
        """Like `map`, but returns the sum of the results: numbers, arrays, or tuples of these.

        The order of the summation depends only on the number of results and on how items were placed. The
        arrays are new and may be overwritten.
        """

    def runs_whole(self, n_fits: int) -> bool:
        """Whether `n_fits` independent fits run in parallel; else they run in turn, each on all workers."""


def _alone(function: Function, *arguments: Any) -> Any:
    """Call a function in one of several threads."""
    with using_cores(1):
        return function(*arguments)


class ThreadExecutor:
    """Executor that uses threads of this process; compiled kernels release the GIL.

    Parameters
    ----------
    n_threads : int, optional
        Number of threads; by default the number of usable cores. 1 runs everything in the calling thread.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_workers = n_threads or usable_cores()
        self._pool: ThreadPoolExecutor | None = None

    def place(self, items: Iterable[Any]) -> Sequence[Any]:
        return list(items)

    def map(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield results in the order of the items; at most `n_workers` + 1 are in memory at a time."""
        rows = zip(*columns, strict=True)
        if self.n_workers == 1 or (isinstance(columns[0], Sized) and len(columns[0]) == 1):
            for row in rows:
                with using_cores(cores() or self.n_workers):  # unless fewer are free
                    result = function(*row, *shared)
                yield result
            return
        self._pool = self._pool or ThreadPoolExecutor(self.n_workers, thread_name_prefix="structune")
        # results are asked for in order; one more than there are threads is begun, so that none stands still
        waiting: deque[Future[Any]] = deque()
        for row in rows:
            waiting.append(self._pool.submit(_alone, function, *row, *shared))
            if len(waiting) > self.n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def keep(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Sequence[Any]:
        return list(self.map(function, *columns, shared=shared))

    def sum(self, function: Function, *columns: Iterable[Any], shared: Sequence[Any] = ()) -> Any:
        results = self.map(function, *columns, shared=shared)
        total = [next(results)]
        while more := list(islice(results, _AT_A_TIME)):  # of many large arrays only some are in memory
            parts = [*total, *more]
            if isinstance(parts[0], tuple):
                total = [tuple(self._add(each) for each in zip(*parts, strict=True))]
            else:
                total = [self._add(parts)]
        return total[0]

    def _add(self, parts: Sequence[Any]) -> Any:
        """Sum in order; each thread adds some of the cells of all arrays: memory is what adding waits for."""
        total, *others = parts
        if not isinstance(total, np.ndarray):
            return sum(parts)

        def add(piece: slice) -> None:
            for part in others:
                total[piece] += part[piece]

        # each cell is added in the order of the parts, so that no bit depends on the number of threads
        rows = max(1, _CELLS_PER_PIECE * len(total) // max(1, total.size))
        pieces = [slice(*ends) for ends in pairwise([*range(0, len(total), rows), len(total)])]
        list(self.map(add, pieces) if len(pieces) > 1 else map(add, pieces))
        return total

    def runs_whole(self, n_fits: int) -> bool:
        return n_fits >= _FITS_PER_THREAD * self.n_workers > _FITS_PER_THREAD

    def __getstate__(self) -> dict[str, object]:
        return {"n_workers": self.n_workers, "_pool": None}


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_executor(n_jobs: int | None = None, executor: Any = None) -> Executor:
    """Create an executor of threads, of local processes, or of a Dask cluster.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads or local processes, as in scikit-learn: None is 1, -1 all cores, -2 all but one.
    executor : None, str, distributed.Client, or Executor
        None for threads; "dask" for a cluster of processes on this machine; "dask://host:port" for the
        scheduler of a Dask cluster. An executor is returned as it is.

    Returns
    -------
    Executor

    Raises
    ------
    DataError
        `executor` is none of these, or Dask is not installed.
    """
    if executor is None:
        return ThreadExecutor(count_jobs(n_jobs))
    if hasattr(executor, "runs_whole"):
        return executor  # type: ignore[no-any-return]
    try:
        from structune.running.dask_executor import connect
    except ImportError:
        raise DataError(f"executor={executor!r} needs Dask: pip install 'structune[dask]'") from None
    return connect(executor, count_jobs(n_jobs))


def count_jobs(n_jobs: int | None) -> int:
    """The number of threads for `n_jobs`, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise DataError(f"n_jobs={n_jobs!r}: expected a positive number, or -1 for all cores")
    if n_jobs > 0:
        return min(int(n_jobs), _MOST_THREADS)
    return max(1, usable_cores() + 1 + n_jobs)


@dataclass(frozen=True)
class Run:
    """Execution settings of `fit`: where it runs, its limits, and its checkpoint.

    Pass it to any estimator as `run`. It is not saved in model files, and clones of an estimator share it.

    Parameters
    ----------
    executor : None, str, distributed.Client, or Executor
        Where `fit` computes. None: threads of this process. "dask": `n_jobs` processes on this machine. A
        client, or "dask://host:port": a Dask cluster. Dask needs ``structune[dask]``.
    max_seconds : float, optional
        Time limit of `fit` in seconds. When it is reached, `fit` keeps the best weights found so far.
    checkpoint : path or Checkpoint, optional
        File for the state of `fit`, written every minute. If it exists and belongs to the same training,
        `fit` continues from it. The file is removed when `fit` is done.
    max_iterations : int
        Maximum number of iterations of a fit without tuning, or of a round of the convex-concave procedure.
        With margin and ramp losses, passes over the data are counted. Tuners have their own limits.
    tolerance : float, optional
        Relative tolerance of a fit; by default 1e-4, and 1e-3 for rankings and genes with introns. A fit ends
        when the norm of the gradient is at most this times the norm at w = 0, or when rounding errors
        dominate. Newton's method (small tables) ends when a step gains at most about the square of this times
        the loss at w = 0. With margin and ramp losses, a fit ends when the gap to the lower bound is at most
        ten times this, relative to the objective; the convex-concave procedure ends when a round gains less.
        Tuner objects have their own tolerance.

    Examples
    --------
    >>> from structune import SequenceTagger
    >>> from structune.running import Run
    >>> tagger = SequenceTagger(run=Run(max_seconds=60.0, checkpoint="tagger.checkpoint"))
    """

    executor: Any = None
    max_seconds: float | None = None
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None
    max_iterations: int = 1000
    tolerance: float | None = None

    def __deepcopy__(self, memo: object) -> Self:
        return self  # for clones of estimators: a connection to a cluster cannot be copied


@dataclass(frozen=True)
class PreparedRun(Run):
    """A `Run` with its executor, tolerance and checkpoint set, as the fitting functions need it."""

    checkpoint: Checkpoint | None = None
    tolerance: float = 1e-4
    verbose: int = 0
    work: Mapping[str, Any] = field(default_factory=dict)  # plain settings: a checkpoint of others is refused
    listener: Callable[[Monitor], None] | None = None  # of the fit's monitor

    def begin_checkpoint(self, monitor: Monitor, data: Callable[[], Mapping[str, Any]]) -> None:
        """Pass the checkpoint, if there is one, to the monitor; `data` returns what identifies the data."""
        if self.checkpoint is not None:
            self.checkpoint.begin({**self.work, **data()})
            monitor.checkpoint = self.checkpoint  # not before: a file of other work is not to be written over

    def end_checkpoint(self, is_done: bool) -> None:
        """Remove the checkpoint if the work is done, otherwise write it."""
        if self.checkpoint is not None:
            self.checkpoint.end(is_done)
