"""Independent fits: whole ones side by side, or one after the other with their shards side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from structune.learning.risk import Risk
from structune.running.executors import Executor, ThreadExecutor


class SideBySide:
    """Runs functions that fit and judge on risks, by whichever way keeps the executor busy.

    Parameters
    ----------
    executor : Executor
    risks : sequence of tuples of Risk
        Each tuple is what one function call works on.
    n_fits : int
        How many calls come at a time.
    """

    def __init__(self, executor: Executor, risks: Sequence[tuple[Risk, ...]], n_fits: int) -> None:
        self._risks, whole = risks, executor.runs_whole(n_fits)
        self._runner = executor if whole else ThreadExecutor(1)
        self._here = isinstance(self._runner, ThreadExecutor)
        if whole:
            risks = [tuple(risk.on(ThreadExecutor(1)) for risk in tuple_) for tuple_ in risks]
        self._groups = [_Group(tuple_) for tuple_ in risks]
        self._placed = [self._runner.place([group])[0] for group in self._groups]

    def map(
        self,
        function: Callable[..., Any],
        which: Sequence[int],
        *columns: Sequence[Any],
        shared: Sequence[Any] = (),
    ) -> Iterator[Any]:
        """Results of ``function(risks[k], *items, *shared)`` for each k in `which`, in order."""
        placed = [self._placed[k] for k in which]
        results = self._runner.map(_counted, placed, *columns, shared=(*shared, function))
        for k, (result, spent) in zip(which, results, strict=True):
            if not self._here:
                for risk, passes in zip(self._risks[k], spent, strict=True):
                    risk.count_passes(passes)
            yield result


class _Group:
    """Risks that travel together."""

    def __init__(self, risks: tuple[Risk, ...]) -> None:
        self.risks = risks


def _counted(group: _Group, *arguments: Any) -> tuple[Any, list[float]]:
    """A function's result, and the passes that it took over each risk."""
    *others, function = arguments
    before = [risk.passes_here for risk in group.risks]  # a worker may have threads that share the risks
    result = function(group.risks, *others)
    return result, [risk.passes_here - n for risk, n in zip(group.risks, before, strict=True)]
