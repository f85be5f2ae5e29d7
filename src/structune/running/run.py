"""How a fit runs: where it computes, for how long, and where its state is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structune.running.executors import Executor, make_executor

if TYPE_CHECKING:
    import os

    from structune.running.checkpoints import Checkpoint
    from structune.running.monitor import Monitor


@dataclass(frozen=True)
class Run:
    """How a fit runs, which says nothing of what it learns: the parameter `run` of all estimators.

    It is no part of model files, and clones of an estimator share it.

    Parameters
    ----------
    executor : None, str, distributed.Client, or Executor
        Where `fit` computes. None: threads. "dask": `n_jobs` processes of this machine. A Dask cluster: its
        client, or "dask://host:port" (needs ``structune[dask]``).
    max_seconds : float, optional
        Time budget of `fit` in seconds. When it is spent, `fit` keeps the best weights found.
    checkpoint : path or Checkpoint, optional
        File for the state of `fit`, written every minute. If it exists and is of the same work, `fit` goes on
        from it. It is removed when the work is done.
    max_iterations : int
        Largest number of iterations of a fit without tuning, or of each round of a convex-concave procedure.
        With margin and ramp losses it counts passes over the data. Tuners have limits of their own.

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

    def prepared(self, n_jobs: int | None, verbose: int, work: Mapping[str, Any]) -> PreparedRun:
        """The same for one fit, with what its estimator adds.

        Parameters
        ----------
        n_jobs : int, optional
        verbose : int
        work : mapping of str to str, int, float or None
            Settings by which a checkpoint knows that it is of the same work.
        """
        kept = self.checkpoint
        if kept is not None:
            from structune.running.checkpoints import Checkpoint

            kept = kept if isinstance(kept, Checkpoint) else Checkpoint(kept)
        executor = make_executor(n_jobs, self.executor)
        return PreparedRun(executor, verbose, self.max_seconds, self.max_iterations, kept, work)


@dataclass(frozen=True)
class PreparedRun:
    """A `Run` whose executor and checkpoint are there, as `fit` and the fit of a tree take it.

    Attributes
    ----------
    executor : Executor
    verbose : int
    max_seconds : float, optional
    max_iterations : int
    checkpoint : Checkpoint, optional
    work : mapping of str to str, int, float or None
        Settings by which the checkpoint knows that it is of the same work.
    """

    executor: Executor
    verbose: int
    max_seconds: float | None
    max_iterations: int
    checkpoint: Checkpoint | None
    work: Mapping[str, Any]

    def begin_checkpoint(self, monitor: Monitor, data: Callable[[], Mapping[str, Any]]) -> None:
        """Let the monitor have the checkpoint, if there is one, with what it has of the same work.

        `data` tells the work's data apart, which takes a pass over them.
        """
        if self.checkpoint is not None:
            self.checkpoint.begin({**self.work, **data()})
            monitor.checkpoint = self.checkpoint  # not before: a file of other work is not to be written over
