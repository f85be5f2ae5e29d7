"""How a fit works, which is no part of what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from structune.running.checkpoints import Checkpoint
from structune.running.executors import Executor
from structune.running.monitor import Monitor


@dataclass(frozen=True)
class Run:
    """Where a fit works, how long, what it shows, and where its state is kept.

    Attributes
    ----------
    executor : Executor
    verbose : int
    max_seconds : float, optional
    checkpoint : Checkpoint, optional
    work : mapping of str to str, int, float or None
        Settings by which a checkpoint knows that it is of the same work.
    """

    executor: Executor
    verbose: int = 0
    max_seconds: float | None = None
    checkpoint: Checkpoint | None = None
    work: Mapping[str, Any] = field(default_factory=dict)

    def begin_checkpoint(self, monitor: Monitor, data: Callable[[], Mapping[str, Any]]) -> None:
        """Let the monitor have the checkpoint, if there is one, with what it has of the same work.

        `data` tells the work's data apart, which takes a pass over them.
        """
        if self.checkpoint is not None:
            self.checkpoint.begin({**self.work, **data()})
            monitor.checkpoint = self.checkpoint  # not before: a file of other work is not to be written over
