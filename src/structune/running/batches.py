"""Items some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T], size: Callable[[T], float], most_size: float, most_items: int
) -> Iterator[list[T]]:
    """Runs of items that end when they have a size or a number; long ones are alone."""
    batch: list[T] = []
    total = 0.0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= most_size or len(batch) >= most_items:
            yield batch
            batch, total = [], 0.0
    if batch:
        yield batch
