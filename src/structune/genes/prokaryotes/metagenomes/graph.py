"""Sets of genes of contigs: a graph of candidates that knows of words only how they add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.metagenomes.weights import WORD_COLUMNS, ContigWeights
from structune.genes.prokaryotes.starts.choices import open_ends
from structune.genes.prokaryotes.structure.candidates import CODON, WORD, OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import CANDIDATES, LEVELS, OrfShard
from structune.structure import Array, FloatArray, IntArray

_KNOWN = np.append(np.ones(4**WORD), 0.0)  # words with an unknown base are none


@dataclass(frozen=True)
class ContigShard(OrfShard):
    """Encoded contigs.

    Attributes
    ----------
    columns : ndarray, shape (n_candidates, 3)
        Sums over the words of each candidate, as `WORD_COLUMNS` names them.
    beyond : ndarray of int16, shape (n_candidates,)
        Places among the weights of ends.
    organism : ndarray of int64, shape (n_contigs,)
        That whose words a contig's are most like.
    """

    columns: FloatArray
    beyond: NDArray[np.int16]
    organism: IntArray

    levels: ClassVar = {**LEVELS, CANDIDATES: (*LEVELS[CANDIDATES], "columns", "beyond")}

    def take(self, indices: Any) -> Self:
        return replace(super().take(indices), organism=self.organism[self._chosen(indices)])


class ContigGraph(OrfGraph):
    """Sets of candidate genes of contigs, which may go on beyond their ends.

    Parameters
    ----------
    rules : OrfRules
    """

    name = "contig-graph"
    weights: ContigWeights

    def __init__(self, rules: OrfRules) -> None:
        self.rules, self.weights = rules, ContigWeights(rules)

    def of_contigs(self, shard: OrfShard) -> ContigShard:
        """What is seen at the ends of contigs; of words nothing yet but how many they are.

        Of a gene that goes on neither length nor bases around a start are known, but how much of it is seen.
        """
        signals, seen = shard.signals.copy(), shard.bounds[:, 1] - shard.bounds[:, 0]
        n_words = np.repeat(shard.n_words, shard.n_candidates) - shard.skipped
        before, behind = open_ends(shard), seen < CODON * (n_words + 2)
        self.weights.forget(signals, before, behind)
        columns, number = np.zeros((seen.size, len(WORD_COLUMNS))), np.zeros(seen.size)
        kernels.score_words(shard.frames, _KNOWN, number)
        columns[:, WORD_COLUMNS.index("number")] = number
        return ContigShard(
            **{**vars(shard), "signals": signals},
            columns=columns,
            beyond=self.weights.ends(before, behind, seen),
            organism=np.zeros(len(shard), np.int64),
        )

    def _scores(self, w: Array, shard: Any) -> Array:
        scores = shard.columns @ self.weights.part(w, "words") + self.weights.end_table(w)[shard.beyond]
        kernels.score_signals(self.weights.signal_table(w), shard.signals, scores)
        return np.asarray(scores)

    def _add(self, shard: Any, used: Array, out: Array) -> None:
        self.weights.part(out, "words")[:] += used @ shard.columns
        self.weights.add_ends(shard.beyond, used, out)
        signals = self.weights.signal_table(np.zeros_like(out))
        kernels.count_signals(shard.signals, used, signals)
        self.weights.add_signals(signals, out)
