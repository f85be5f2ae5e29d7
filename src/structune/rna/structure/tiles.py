"""The order in which kernels fill the tables of one sequence: tile by tile, on several cores."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Any

import numpy as np

from structune.kernels.vectors import all_lanes
from structune.rna.kernels import sums as kernels
from structune.rna.kernels.loops import ABSENT
from structune.rna.kernels.products import IN_CACHE, PAD, Blocks
from structune.rna.structure.space import Space, n_cells, nick_of
from structune.running.cores import cores
from structune.running.progress import step
from structune.structure import Array, IntArray

BLOCK = 256  # bases: the tiles that are multiplied fit in the cache of a core
BLOCKED = 1000  # bases: shorter sequences are one block, whose rows stay in the cache anyway
THREADED = 4  # blocks for each thread: with fewer, threads mostly wait for each other


def _aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros whose runs of 64 bytes are lines of the cache."""
    kind, size = np.dtype(dtype), math.prod(shape)
    raw = np.zeros(size * kind.itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return np.asarray(raw[start : start + size * kind.itemsize].view(kind).reshape(shape))


def _threads(n_blocks: int) -> int:
    """Threads that work on one sequence."""
    return max(1, min(cores(), n_blocks // THREADED))


def cells_of_rows(n: int, reach: int) -> int:
    """Cells of the rows at hand, and of their branches, that kernels keep beside the tables of n bases."""
    if n < BLOCKED or reach < n - 1:
        return 0
    return 3 * n * (BLOCK * _threads(-(-n // BLOCK)) + kernels.RING)


class Tiles:
    """Blocks of bases, and scratch for the kernels that work on tiles of two of them."""

    def __init__(self, letters: Array, allowed: Array, space: Space) -> None:
        self.n, self._space = letters.size, space
        is_whole = nick_of(letters) == self.n and space.reach(self.n) == self.n - 1
        self.n_blocks = -(-self.n // BLOCK) if is_whole and self.n >= BLOCKED else 1
        size = BLOCK if self.n_blocks > 1 else self.n
        order = places = np.arange(self.n_blocks * size) - (self.n_blocks * size - self.n)
        letters_of_four = partners = np.empty(0, np.int64)
        if self.n_blocks > 1:
            words = np.append(letters, ABSENT)[np.where(order < 0, self.n, order)]
            # Sorted in each block by letter; those of one letter stay in their order.
            by_letter = np.argsort(words.reshape(-1, size), axis=1, kind="stable")
            order = np.take_along_axis(order.reshape(-1, size), by_letter, axis=1).ravel()
            places = np.empty(self.n, np.int64)
            places[order[order >= 0]] = np.flatnonzero(order >= 0)
            fours = np.append(letters, ABSENT)[np.where(order < 0, self.n, order)].reshape(-1, 4)
            with_letter = np.array([np.sum(1 << np.flatnonzero(row)) for row in allowed], np.int64)
            letters_of_four = np.bitwise_or.reduce(1 << fours.astype(np.int64), axis=1)
            partners = np.bitwise_or.reduce(with_letter[fours], axis=1)
        self.blocks = Blocks(size, order, places, letters_of_four, partners)
        self.n_threads = _threads(self.n_blocks)
        # Rows of all blocks at hand, and those below that loops reach; a ring of one block has only these.
        self.n_rows = kernels.RING if self.n_blocks == 1 else self.n_threads * size + kernels.RING

    def rings(self, dtype: Any, fill: float = 0.0) -> tuple[Array, Array, Array]:
        """Scratch of all threads: a ring of rows, branches of these rows, and a number for each."""
        row, has_branches = kernels.LEFT + self.n + kernels.RIGHT, self.n_blocks > 1
        return (
            np.full((self.n_rows, row), fill, dtype),
            np.full((self.n_rows * has_branches, self.blocks.order.size), fill, dtype),
            np.zeros(self.n_rows, dtype),
        )

    def tile(self, dtype: Any) -> Array:
        """Scratch of one thread."""
        return _aligned((1 if self.n_blocks == 1 else self.blocks.size, self.blocks.size + PAD), dtype)

    def panel(self, dtype: Any) -> Array:
        """Scratch of one thread for products of tiles."""
        return _aligned((16 * IN_CACHE * all_lanes(dtype).width if self.n_blocks > 1 else 0,), dtype)

    def rows(self, n_rows: int, dtype: Any) -> Array:
        """So many rows of scratch, of one thread."""
        return np.zeros((n_rows, self.n + kernels.RIGHT), dtype)

    def fill(self, name: str, kernel: Callable[[int, int, int, IntArray], None], inside: bool = True) -> None:
        """Call ``kernel(own, last, thread, partners)`` for all tiles, from the inside out or the other way.

        The kernel writes the row that it works on to the last number of ``partners``, shape (n,).
        """
        n, done = self.n_blocks, np.zeros(self.n_blocks, np.int64)
        partners = [np.full(self.n, self.n if inside else 0) for _ in range(self.n_threads)]

        def share() -> float:
            if n > 1:
                # A tile costs what lies between its blocks.
                return float(np.sum(done * (done + 1)) / np.sum(np.arange(n + 1) * np.arange(1, n + 2)))
            below = share_below(partners[0], self._space)
            return below if inside else 1.0 - below

        with step(name, share):
            self._work(kernel, inside, done, partners)

    def _work(
        self, kernel: Callable[..., None], inside: bool, done: IntArray, partners: list[IntArray]
    ) -> None:
        # Thread t works on every n_threads-th block of rows. A tile needs that of the same columns in the
        # block of rows before, which needs that of the block before it: so threads follow each other.
        n, changed, failed = self.n_blocks, Condition(), False

        def work(thread: int) -> None:
            nonlocal failed
            for number in range(thread, n, self.n_threads):
                own = n - 1 - number if inside else number
                before = own + 1 if inside else own - 1
                for last in range(own, n)[:: 1 if inside else -1]:
                    # Tiles that the block before has to have done: up to these columns, if it has them.
                    needed = last - own if inside else n - last
                    with changed:
                        while not failed and 0 <= before < n and done[before] < needed:
                            changed.wait()
                    if failed:
                        return
                    try:
                        kernel(own, last, thread, partners[thread])
                    except BaseException:
                        with changed:
                            failed = True
                            changed.notify_all()
                        raise
                    with changed:
                        done[own] += 1
                        changed.notify_all()

        if self.n_threads == 1:
            return work(0)
        with ThreadPoolExecutor(self.n_threads, thread_name_prefix="structune") as pool:
            try:
                for future in [pool.submit(work, thread) for thread in range(self.n_threads)]:
                    future.result()
            except BaseException:  # Ctrl-C, or a thread that cannot start: the others would wait for it
                with changed:
                    failed = True
                    changed.notify_all()
                raise


def share_below(partners: IntArray, space: Space) -> float:
    """Share of the cells of a table of pairs that lie below the row that a kernel is at."""
    # Rows are done from the last one up, and the last rows are shorter: the share is one of cells, not of
    # rows.
    n_rows, n = partners.size - int(partners[-1]), partners.size
    return n_cells(n_rows, space.reach(n_rows)) / n_cells(n, space.reach(n))
