"""How many workers may die with a task: read by the scheduler of a Dask cluster."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, SchedulerPlugin

PREFIX = "structune"  # of the names of tasks
MOST_DEATHS = 100  # in a row, of workers that had the same task


class CountDeaths(SchedulerPlugin):  # type: ignore[misc]
    """Has the scheduler give tasks of ours up after many deaths, counted anew when they have had a result.

    It gives a task up after four, whatever the reason and in all the time that a fit needs the task, or
    after as many as the settings of the cluster say. Those of other tasks stay in force.
    """

    name, idempotent = "structune-deaths", True

    def __init__(self) -> None:
        self.most, self._known = MOST_DEATHS, set[Any]()

    async def start(self, scheduler: Scheduler) -> None:
        """Called by the scheduler that it is registered with."""
        self._tasks = scheduler.tasks

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Called when the state of a task has changed."""
        if not str(key).startswith(PREFIX):
            return
        if finish == "forgotten":
            self._known.discard(key)
        elif finish == "memory" or key not in self._known:
            self._known.add(key)
            self._tasks[key].suspicious = -self.most
