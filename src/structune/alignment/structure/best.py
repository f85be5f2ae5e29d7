"""The alignment of the highest score of one pair, in blocks of rows that fit in memory."""

from __future__ import annotations

import numpy as np

from structune.alignment.kernels import best as kernels
from structune.alignment.kernels.sums import Rows
from structune.alignment.structure.pair import Pair, begin_with, row_of
from structune.running.steps import step
from structune.structure import FloatArray, IntArray


def best(pair: Pair) -> tuple[IntArray, float]:
    """The alignment of the highest score: the partner of each residue of x, -1 for none, and its score."""
    return _Best(pair).found()


class _Best:
    """Viterbi: the first row of each block is kept, and the tables of one block at a time."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def found(self) -> tuple[IntArray, float]:
        pair, scores, blocks = self.pair, self.pair.scores, self.pair.blocks
        first_rows, row, score, last = list[Rows](), None, pair.none, 0
        with step("best scores", lambda: len(first_rows) / len(blocks)):
            for block in blocks:
                rows, ends = self._fill(block, row)
                first_rows.append(row_of(pair, rows, block, block.start))
                row = row_of(pair, rows, block, block.stop)
                r = int(np.argmax(ends))
                if ends[r] > score:
                    score, last = ends[r], block.start + r
        partner, state, i, j = np.full(pair.n, -1), kernels.BEGIN, last, 0
        for k, block in reversed(list(enumerate(blocks))):
            if i <= block.start:
                continue
            if k < len(blocks) - 1:
                rows, _ = self._fill(block, first_rows[k])
            if i == last:
                j = kernels.last_match(scores, i, block.start, pair.cells, rows.match[i - block.start])
                state = kernels.MATCH
            state, i, j = kernels.trace(state, i, j, block.start, scores, pair.cells, rows, partner)
        return partner, float(score + pair.base)

    def _fill(self, block: slice, row: Rows | None) -> tuple[Rows, FloatArray]:
        pair = self.pair
        rows, scores = pair.tables(block), pair.scores
        begin_with(rows, row, scores.x.begins[0] + scores.y.begins, -np.inf)
        match, ends = pair.match(block), np.full(block.stop - block.start + 1, -np.inf)
        kernels.best_rows(match, block.start, scores, pair.cells, rows, ends)
        return rows, ends
