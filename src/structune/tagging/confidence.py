"""How sure taggers are of tokens, of spans of tokens and of whole sequences, and whether they are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from structune.structure import FloatArray, IntArray
from structune.tagging.kernels import log_domain
from structune.tagging.structure.chain import Chain
from structune.tagging.structure.labels import OUTSIDE, BoolArray, goes_on, joins, span_parts, told_scheme

if TYPE_CHECKING:
    from structune.html_reports import Section

_N_BINS = 10  # of probabilities
_NO_TYPE = "_"  # of segments whose labels are B and I alone, as seqeval has it


class Span(NamedTuple):
    """Tokens ``start:stop`` of a sequence (from 0) that form a segment or have the same label."""

    label: str
    start: int
    stop: int
    probability: float


class Confidence(NamedTuple):
    """Predicted labels of a sequence, and the probabilities of tokens, spans and all labels together."""

    labels: list[str]
    tokens: list[float]
    spans: list[Span]
    sequence: float


def confidences(model: Any, X: Any, is_segments: bool | None = None) -> list[Confidence]:
    """Predict labels, and the probabilities of each token, each span and each whole sequence.

    `is_segments`: whether spans are segments of BIO or BIOES labels, by default if the model's labels are.
    """
    model._require_probabilities()
    shard, lengths = model._encode(X)
    w, structure = model.coef_, model._predicting
    best, scores = structure.best(w, shard)
    shares = structure.marginals(w, shard)[np.arange(best.size), best]
    whole = np.exp(np.minimum(0.0, scores - structure.log_partition(w, shard))).tolist()
    if isinstance(structure, Chain):
        spans_of = _spans_of_chain(structure, w, shard, is_segments)
    else:
        spans_of = _spans_of_segments(model, shard)
    found = (
        Confidence(model._labelled(best[a:b]), shares[a:b].tolist(), spans_of(s, best[a:b]), whole[s])
        for s, (a, b) in enumerate(pairwise(shard.offsets.tolist()))
    )
    return [next(found) if length else Confidence([], [], [], 1.0) for length in lengths.tolist()]


def spans_of_labels(labels: Sequence[Any], is_segments: bool) -> list[tuple[Any, int, int]]:
    """Segments of BIO or BIOES labels as conlleval reads them, or runs of equal labels; O is left out."""
    parts = span_parts(labels, is_segments)
    starts = [t for t, own in enumerate(parts) if not t or not goes_on(parts[t - 1], own)]
    ends = pairwise([*starts, len(labels)])
    kinds = [_NO_TYPE if kind == "" else kind for _, kind in parts]  # not of a label 0
    return [(kinds[a], a, b) for a, b in ends if labels[a] != OUTSIDE]


def _spans_of_segments(model: Any, shard: Any) -> Callable[[int, IntArray], list[Span]]:
    p = partial(model.chain_.segment_probability, model.coef_, shard)
    return lambda s, tags: [
        Span(k or _NO_TYPE, a, b, p(s, a, b, k)) for k, a, b in model._read(tags) if k != OUTSIDE
    ]


def _spans_of_chain(
    chain: Chain, w: FloatArray, shard: Any, is_segments: bool | None
) -> Callable[[int, IntArray], list[Span]]:
    if is_segments is None:
        is_segments = told_scheme(chain.labels) is not None
    apart = ~joins(span_parts(chain.labels, is_segments))  # labels side by side that are not of one span

    def spans(s: int, best: IntArray) -> list[Span]:
        own, told = np.eye(len(apart), dtype=bool)[best], list[Span]()
        if found := spans_of_labels([chain.labels[y] for y in best.tolist()], is_segments):
            part_of = _parts_of(chain, w, shard.take([s]))
        for label, a, b in found:
            before, after = apart[:, best[a : a + 1]].T[: min(a, 1)], apart[best[b - 1 : b]][: best.size - b]
            told.append(Span(label, a, b, part_of(a - len(before), [*before, *own[a:b], *after])))
        return told

    return spans


def _parts_of(chain: Chain, w: FloatArray, shard: Any) -> Callable[[int, Sequence[BoolArray]], float]:
    """Probabilities of labels of a part of one sequence, by one run of forward-backward."""
    under = chain._under(w, shard)
    offsets, scores = chain._scores_of(under, slice(0, 1))
    start, moves, end = under.moves.of_states
    forward, backward = np.empty((2, len(scores), *end.shape))
    peaks, counts = np.empty(len(scores)), (np.zeros_like(moves), np.zeros_like(end))
    log_domain.expectations(
        offsets, scores, start, moves, end, np.ones(1), forward, backward, np.empty(end.size), peaks,
        np.empty(1), np.empty_like(scores), *counts,
    )  # fmt: skip

    def probability(first: int, allowed: Sequence[BoolArray]) -> float:
        """That tokens from `first` on have one of the labels that are allowed for each."""
        values = np.where(allowed[0], forward[first], -np.inf)  # by context and label
        for t, (before, row) in enumerate(pairwise(allowed), first + 1):
            y = np.flatnonzero(before)
            terms = values.T[y][:, :, None] + moves[y]  # by label, its context, and the next label
            values = np.full_like(values, -np.inf)
            if len(values) == 1:  # order 1: states have no context
                values[0] = np.logaddexp.reduce(terms[:, 0], axis=0)
            else:
                values[y] = np.logaddexp.reduce(terms, axis=1)
            values = np.where(row, values + scores[t], -np.inf)
        last = first + len(allowed) - 1
        part, whole = (np.logaddexp.reduce((v + backward[last]).ravel()) for v in (values, forward[last]))
        # what forward values were shifted by on the way
        return float(np.exp(min(0.0, part - whole - peaks[first + 1 : last + 1].sum())))

    return probability


# --- reliability ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reliability:
    """Number, mean probability and share of right ones of predictions, in bins of equal width."""

    counts: IntArray
    predicted: FloatArray
    observed: FloatArray

    @classmethod
    def of(cls, probabilities: Sequence[float], right: Sequence[bool]) -> Self:
        """Count predictions; bins without any are left out."""
        p = np.asarray(probabilities, dtype=np.float64)
        _, bins = np.unique(np.minimum(_N_BINS * p, _N_BINS - 1).astype(np.int64), return_inverse=True)
        counts = np.bincount(bins)
        return cls(counts, np.bincount(bins, p) / counts, np.bincount(bins, right) / counts)

    def summary(self) -> list[float]:
        """Return the mean probability, the share of right predictions and the expected calibration error."""
        values = self.predicted, self.observed, np.abs(self.observed - self.predicted)
        return [float(np.average(each, weights=self.counts)) for each in values]


def reliabilities(
    is_segments: bool, found: Sequence[Confidence], true: Sequence[Sequence[Any]]
) -> dict[str, Reliability]:
    """Reliability of tokens, of segments or runs of equal labels, and of whole sequences."""
    pairs = [(own, list(y)) for own, y in zip(found, true, strict=True) if y]
    known = [{*spans_of_labels(y, is_segments)} for _, y in pairs]
    parts = {
        "tokens": [(p, a == b) for c, y in pairs for p, a, b in zip(c.tokens, c.labels, y, strict=True)],
        "segments" if is_segments else "runs of equal labels": [
            (span.probability, span[:3] in own)
            for (c, _), own in zip(pairs, known, strict=True)
            for span in c.spans
        ],
        "whole sequences": [(c.sequence, c.labels == y) for c, y in pairs],
    }
    return {what: Reliability.of(*zip(*values, strict=True)) for what, values in parts.items() if values}


def reliability_section(found: dict[str, Reliability]) -> Section:
    """A table and a picture of each reliability."""
    from structune.html_reports.page import Section, Text, make_table
    from structune.html_reports.pictures import reliability

    told = (
        "Probabilities are reliable if predictions with a probability of 0.8 are right in 80% of all cases: "
        "points are then on the diagonal. Bars are 95% intervals; numbers count the predictions. The "
        "calibration error is the mean distance from the diagonal. A segment is right if its label and both "
        "ends are."
    )
    rows = [(k, f"{each.counts.sum():,}", *(f"{v:.4f}" for v in each.summary())) for k, each in found.items()]
    columns = ["predicted", "mean probability", "share right", "calibration error"]
    drawn = [reliability(each.predicted, each.observed, each.counts, what) for what, each in found.items()]
    return Section("Reliability", [Text(told), make_table("", ["of"], columns, rows, len(rows)), *drawn])
