"""Learning where genes begin, by expectation maximisation over their starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.kernels.candidates import RUNS, SPACINGS
from structune.genes.prokaryotes.starts.choices import BEHIND, N_NEIGHBOURS, UPSTREAM, Choices
from structune.genes.prokaryotes.starts.model import (
    CODONS,
    MOTIFS,
    N_WORDS,
    SITUATIONS,
    Motif,
    StartModel,
    weighed,
)
from structune.genes.prokaryotes.structure.candidates import CONTEXT, STARTS
from structune.genes.prokaryotes.structure.encoding import count_words
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import OrfShard
from structune.structure import FloatArray

_FEWEST = 200  # genes that it is learned from
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
    """Learn from genes whose stops are right, wherever they begin; None of fewer than 200 genes.

    Parameters
    ----------
    chosen : ndarray of int8, shape (n_candidates,)
        The genes.
    letters : sequence of ndarray of int8
        The sequences of the shard.
    trust : float
        Log odds of the genes' own starts, beside what is seen there.
    """
    if np.count_nonzero(chosen) < _FEWEST:
        return None
    of = Choices.of(shard, graph.weights, chosen)
    # words at any place of both strands: what genes differ from
    everywhere = np.full(N_WORDS - 1, _FEW_WORDS)
    for part in letters:
        everywhere += count_words(part)
    everywhere /= everywhere.sum()
    upstream = of.upstream
    background = np.bincount(upstream[upstream < 4], minlength=4) / np.count_nonzero(upstream < 4)
    all_letters = of.count_letters(np.ones(len(of)))
    all_codons = np.bincount(of.kinds, minlength=len(STARTS)) + 1.0

    def model_of(used: FloatArray, classes: FloatArray, motifs: Mapping[str, Motif]) -> StartModel:
        """The model by how probable starts are."""
        words = of.count_words(used, N_WORDS)[:-1] + len(everywhere) / 2 * everywhere
        codons = _FEW * CODONS + np.bincount(of.kinds, used, minlength=len(STARTS))
        return StartModel(
            words=np.append(np.log(words / words.sum() / everywhere), 0.0),
            codons=np.log(codons / codons.sum() / (all_codons / all_codons.sum())),
            sites=_log_odds(of.sites, used, RUNS * SPACINGS + 1),
            context=np.column_stack(
                (_odds(of.count_letters(used), all_letters)[:, :4], np.zeros(CONTEXT.size))
            ),
            neighbours=_log_odds(of.before, used, N_NEIGHBOURS),
            behind=_log_odds(of.behind, used, BEHIND.size + 1),
            classes=classes,
            background=background,
            **motifs,
        )

    priors = {name: Motif.from_text(*given, background=background) for name, given in MOTIFS.items()}
    known = trust * of.chosen
    used = of.shares(np.where(of.kinds == 0, 0.0, _OTHERS) + known)
    model = model_of(used, np.tile(_CLASSES, (SITUATIONS, 1)), priors)
    odds = model.class_odds(of)
    # Expectation maximisation. Hidden are the start of each gene, and the class of each start: `used` are
    # probabilities of starts, `classes` those of classes of each candidate if it were a start.
    for _ in range(_STEPS):
        classes = odds / odds.sum(axis=1, keepdims=True)
        counts = [np.bincount(of.situation, used * share, minlength=SITUATIONS) + 2.0 for share in classes.T]
        table = np.column_stack(counts)
        shares = {"site": used * classes[:, 0], "box": used * classes[:, 1], "promoter": used}
        motifs = {
            name: getattr(model, name).learned(
                upstream, UPSTREAM, background, share, priors[name], name != "promoter"
            )
            for name, share in shares.items()
        }
        model = model_of(used, table / table.sum(axis=1, keepdims=True), motifs)
        odds = model.class_odds(of)
        used = of.shares(weighed(model.parts(of, odds)) + known)
    return model


def _log_odds(kind: Any, used: FloatArray, n: int) -> FloatArray:
    """Of each kind among starts, against all candidates."""
    return _odds(np.bincount(kind, used, minlength=n), np.bincount(kind, minlength=n))


def _odds(counts: Any, every: Any) -> FloatArray:
    """The same by counts among starts, and among all candidates."""
    # pseudocounts: one of each kind among all candidates, and as many starts as there are kinds, dealt out as
    # candidates are
    shares = (every + 1.0) / (every + 1.0).sum(axis=-1, keepdims=True)
    counts = counts + counts.shape[-1] * shares
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True) / shares))
