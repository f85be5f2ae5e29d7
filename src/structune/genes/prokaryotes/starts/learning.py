"""Learning where genes begin, by expectation maximisation over their starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.kernels.ribosome_site import RUNS, SPACINGS
from structune.genes.prokaryotes.starts.choices import BEHIND, N_NEIGHBOURS, UPSTREAM, Choices
from structune.genes.prokaryotes.starts.model import (
    CODONS,
    MOTIFS,
    N_WORDS,
    SITUATIONS,
    StartModel,
    weighed,
)
from structune.genes.prokaryotes.starts.motifs import Motif
from structune.genes.prokaryotes.structure.candidates import STARTS
from structune.genes.prokaryotes.structure.encoding import count_words
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import OrfShard
from structune.genes.prokaryotes.structure.weights import CONTEXT
from structune.structure import FloatArray

FEWEST = 200  # genes that it is learned from
_STEPS = 8
_FEW = 300.0  # starts seen before
_FEW_WORDS = 1.0  # of each, seen before
_OTHERS = -2.0  # log odds of other start codons than ATG, at first
_CLASSES = np.array([0.5, 0.1, 0.3])  # with ribosome-binding site, without leader, others


def learn_starts(
    graph: OrfGraph,
    shard: OrfShard,
    chosen: NDArray[np.int8],
    letters: Sequence[Letters],
    trust: float = 0.0,
) -> StartModel | None:
    """Learn from genes whose stops are right, wherever they begin.

    Parameters
    ----------
    graph : OrfGraph
    shard : OrfShard
    chosen : ndarray of int8, shape (n_candidates,)
        The genes.
    letters : sequence of ndarray of int8
        The sequences of the shard.
    trust : float
        Log odds of the genes' own starts, beside what is seen there.

    Returns
    -------
    StartModel or None
        None if there are fewer than 200 genes.
    """
    if np.count_nonzero(chosen) < FEWEST:
        return None
    return _Lesson(graph, shard, chosen, letters, trust).model


class _Lesson:
    """What a model is learned from, and the learning."""

    def __init__(
        self,
        graph: OrfGraph,
        shard: OrfShard,
        chosen: NDArray[np.int8],
        letters: Sequence[Letters],
        trust: float,
    ) -> None:
        self.of = Choices.of(shard, graph.weights, chosen)
        self._words = np.full(N_WORDS - 1, _FEW_WORDS)
        for part in letters:
            self._words += count_words(part)
        of = self.of
        self._letters = of.count_letters(np.ones(len(of)))
        before = of.upstream
        self._background = np.bincount(before[before < 4], minlength=4) / np.count_nonzero(before < 4)
        self._priors = {name: Motif.of(*given, background=self._background) for name, given in MOTIFS.items()}
        known = trust * of.chosen
        used = of.shares(np.where(of.kinds == 0, 0.0, _OTHERS) + known)
        self.model = self._tables(used, np.tile(_CLASSES, (SITUATIONS, 1)), self._priors)
        odds = self.model.class_odds(of)
        for _ in range(_STEPS):
            classes = odds / odds.sum(axis=1, keepdims=True)
            motifs = self._learned(used, classes)
            self.model = self._tables(used, self._class_table(used, classes), motifs)
            odds = self.model.class_odds(of)
            used = of.shares(weighed(self.model.parts(of, odds)) + known)

    def _learned(self, used: FloatArray, classes: FloatArray) -> dict[str, Motif]:
        shares = {"site": used * classes[:, 0], "box": used * classes[:, 1], "promoter": used}
        return {
            name: getattr(self.model, name).learned(
                self.of.upstream, UPSTREAM, self._background, share, self._priors[name], name != "promoter"
            )
            for name, share in shares.items()
        }

    def _class_table(self, used: FloatArray, classes: FloatArray) -> FloatArray:
        counts = [
            np.bincount(self.of.situation, used * share, minlength=SITUATIONS) + 2.0 for share in classes.T
        ]
        table = np.column_stack(counts)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def _tables(self, used: FloatArray, classes: FloatArray, motifs: dict[str, Motif]) -> StartModel:
        of, sites, unknown = self.of, RUNS * SPACINGS + 1, np.zeros(CONTEXT.size)
        background = self._words / self._words.sum()
        words = of.count_words(used, N_WORDS)[:-1] + len(background) / 2 * background
        known = _FEW * CODONS + np.bincount(of.kinds, used, minlength=len(STARTS))
        all_codons = np.bincount(of.kinds, minlength=len(STARTS)) + 1.0
        return StartModel(
            words=np.append(np.log(words / words.sum() / background), 0.0),
            codons=np.log(known / known.sum() / (all_codons / all_codons.sum())),
            sites=_log_odds(of.sites, used, sites),
            context=np.column_stack((_odds(of.count_letters(used), self._letters)[:, :4], unknown)),
            neighbours=_log_odds(of.before, used, N_NEIGHBOURS),
            behind=_log_odds(of.behind, used, BEHIND.size + 1),
            classes=classes,
            background=self._background,
            **motifs,
        )


def _log_odds(kind: Any, used: FloatArray, n: int) -> FloatArray:
    """Of each kind among starts, against all candidates."""
    return _odds(np.bincount(kind, used, minlength=n), np.bincount(kind, minlength=n))


def _odds(counts: Any, every: Any) -> FloatArray:
    """The same by counts among starts, and among all candidates."""
    shares = (every + 1.0) / (every + 1.0).sum(axis=-1, keepdims=True)
    counts = counts + counts.shape[-1] * shares
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True) / shares))
