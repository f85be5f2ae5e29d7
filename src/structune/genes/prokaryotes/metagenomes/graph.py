"""Sets of genes of contigs: a graph of candidates that knows of words only how they add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.structure.candidates import CODON, LENGTHS, WORD, OrfWeights
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import CANDIDATES, LEVELS, OrfShard
from structune.structure import Array, FloatArray, IntArray

_WORD_COLUMNS = ("in genes", "amino acids", "number")
_ENDS = ("before", "behind", "both")  # where a gene goes on beyond its contig
_KNOWN = np.append(np.ones(4**WORD), 0.0)  # words with an unknown base are none


@dataclass(frozen=True)
class ContigWeights(OrfWeights):
    """The weights, in this order: of sums over words; of how much is seen of genes that go on beyond an end;
    of signals and of gaps, as `OrfWeights` has them.
    """

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        ends = [f"{kind} {length}" for kind in _ENDS for length in LENGTHS]
        known = {
            name: labels for name, labels in super().labels.items() if name not in ("codons", "hexamers")
        }
        return {"words": list(_WORD_COLUMNS), "ends": ends, **known}

    def ends(self, before: NDArray[np.bool_], behind: NDArray[np.bool_], seen: Array) -> NDArray[np.int16]:
        """Places among the weights of ends of candidates that go on there; one of none for others.

        `seen` are the bases of each.
        """
        # kind: 1 goes on before, 2 behind, 3 both; each has a weight for every bin of what is seen
        bins = np.searchsorted(LENGTHS, seen, side="right") - 1
        kind = before.astype(np.int16) + 2 * behind
        places = (kind - 1) * len(LENGTHS) + bins
        return np.where(kind > 0, places, len(_ENDS) * len(LENGTHS)).astype(np.int16)

    def end_table(self, w: Array) -> Array:
        """Scores by place, with one of 0 for none."""
        return np.append(self.part(w, "ends"), 0.0)

    def add_ends(self, ends: NDArray[np.int16], used: FloatArray, out: Array) -> None:
        """Add the places of candidates, as often as they are used, to the weights."""
        counts = self.end_table(np.zeros_like(out))
        np.add.at(counts, ends, used)
        self.part(out, "ends")[:] += counts[:-1]


@dataclass(frozen=True)
class ContigShard(OrfShard):
    """Encoded contigs."""

    columns: FloatArray  # (n_candidates, 3): sums over words of each candidate, as `_WORD_COLUMNS` names them
    beyond: NDArray[np.int16]  # of each candidate: its place among the weights of ends
    organism: IntArray  # of each contig: that whose words its own are most like

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
    _weights = ContigWeights
    weights: ContigWeights

    def of_contigs(self, shard: OrfShard) -> ContigShard:
        """What is seen at the ends of contigs; of words nothing yet but how many they are.

        Of a gene that goes on neither length nor bases around a start are known, but how much of it is seen.
        """
        # a whole gene has two codons more than words; one with fewer bases goes on behind its contig
        signals, seen = shard.signals.copy(), shard.bounds[:, 1] - shard.bounds[:, 0]
        n_words = np.repeat(shard.n_words, shard.n_candidates) - shard.skipped
        before, behind = shard.begin_before, seen < CODON * (n_words + 2)
        self.weights.forget(signals, before, behind)
        columns, number = np.zeros((seen.size, len(_WORD_COLUMNS))), np.zeros(seen.size)
        kernels.score_words(shard.frames, _KNOWN, number)
        columns[:, _WORD_COLUMNS.index("number")] = number
        return ContigShard(
            **{**vars(shard), "signals": signals},
            columns=columns,
            beyond=self.weights.ends(before, behind, seen),
            organism=np.zeros(len(shard), np.int64),
        )

    def _word_scores(self, w: Array, shard: Any) -> Array:
        return np.asarray(
            shard.columns @ self.weights.part(w, "words") + self.weights.end_table(w)[shard.beyond]
        )

    def _add_words(self, shard: Any, used: Array, out: Array) -> None:
        self.weights.part(out, "words")[:] += used @ shard.columns
        self.weights.add_ends(shard.beyond, used, out)
