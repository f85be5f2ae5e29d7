"""Cross-validation of a tagger on its own training data: scores, labels to look at, learning curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from structune.cli.reports import tables_section
from structune.cli.terminal import filled, new_table
from structune.errors import DataError
from structune.learning.tuning.problem import splits_of_examples
from structune.plots.figure import ACCENT, shortened
from structune.structure import FloatArray, offsets_of
from structune.tagging.confidence import Reliability, confidences, reliabilities, reliability_section
from structune.tagging.features.attributes import as_table
from structune.tagging.metrics import segment_scores, token_scores
from structune.tagging.scores import TaggingScores
from structune.tagging.segment_tagger import SegmentTagger
from structune.tagging.structure.labels import (
    LeftOut,
    as_rules,
    check_lengths,
    fit_to_rules,
    named_place,
    told_scheme,
)
from structune.tagging.structure.shard import refuse_empty
from structune.tagging.tagger import SequenceTagger

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

    from structune.html_reports import Section
    from structune.tagging.conll import ConllData

_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)  # of the sequences to learn from
_MOST_PRINTED, _MOST_SHOWN, _N_AROUND, _LONGEST = 20, 300, 3, 24  # rows; tokens around, letters of each


class Suspect(NamedTuple):
    """A given label, with its probability, in place of which a model that has not seen it predicts another.

    `sequence` and `token` are counted from 0.
    """

    sequence: int
    token: int
    label: Any
    probability: float
    predicted: Any
    predicted_probability: float


@dataclass(frozen=True)
class LearningCurve:
    """Held-out scores, (n_folds, n_points), by the mean number of training sequences."""

    n_sequences: FloatArray
    scores: FloatArray
    measure: str  # "F1 of segments" if labels are BIO or BIOES, or else "accuracy of tokens"

    def last_doubling(self) -> tuple[float, float]:
        """Return the gain in score by the last doubling of the data, and its standard error over folds.

        The score at half the sequences is interpolated in the logarithm of their number.
        """
        logs = np.log(self.n_sequences)
        gains = [row[-1] - np.interp(logs[-1] - np.log(2), logs, row) for row in self.scores]
        return float(np.mean(gains)), float(np.std(gains, ddof=1)) / len(gains) ** 0.5

    def __str__(self) -> str:
        (gain, error), n = self.last_doubling(), self.n_sequences[-1]
        return (
            f"The last doubling of the training data, from about {n / 2:,.0f} to {n:,.0f} sequences, changed "
            f"the {self.measure} by {gain:+.4f} (standard error over folds {error:.4f}), to "
            f"{self.scores[:, -1].mean():.4f}."
        )


@dataclass(frozen=True)
class Review:
    """Result of `review`: what models say of sequences that they were not trained on.

    Attributes
    ----------
    labels, predictions : list of list
        Given and predicted labels.
    probabilities : list of list of float
        Probability of each given label; 0 if the label does not occur in the other folds.
    suspects : list of Suspect
        Given labels that differ from the predicted ones, the least probable first.
    reliability : dict of str to Reliability
        Reliability of probabilities of tokens, segments (or runs of equal labels) and whole sequences.
    curve : LearningCurve
        Scores by the number of training sequences.
    """

    labels: list[list[Any]]
    predictions: list[list[Any]]
    probabilities: list[list[float]]
    suspects: list[Suspect]
    reliability: dict[str, Reliability]
    curve: LearningCurve


def review(tagger: SequenceTagger | SegmentTagger, X: Any, y: Any, groups: Any = None, cv: Any = 5) -> Review:
    """Cross-validate a tagger on its own training data, to find wrong labels and to see if more data help.

    Each fold trains models on 20, 40, 60, 80 and 100% of its training part, and tunes each of them unless
    `tagger` has a penalty. Rules in `forbidden`, and entries of `class_weight`, do not apply to models whose
    training data lack one of their labels.

    Parameters
    ----------
    tagger : SequenceTagger or SegmentTagger
        Tagger with its parameters; it is not changed. It needs the log loss.
    X, y
        Sequences and their complete labels, as for `SequenceTagger.fit`.
    groups : array-like, shape (n_sequences,), optional
        Group of each sequence. Sequences of one group stay in one fold. By default, sequences with the same
        attributes are a group, so that a wrong label does not hide behind its copy. This needs a number of
        folds in `cv`, and at least as many different sequences.
    cv : int, splitter, or list of splits
        Number of random folds, or folds as in scikit-learn. Each sequence must be held out once.

    Raises
    ------
    CapabilityError
        The loss of the tagger gives no probabilities.
    DataError
        Labels are missing or only partly known, or the sequences cannot be split.
    """
    clone(tagger)._require_probabilities()
    table = as_table(X)
    check_lengths(y, table.lengths)
    y = [list(labels) for labels in y]
    for s, t, label in ((s, t, label) for s, own in enumerate(y) for t, label in enumerate(own)):
        if not isinstance(label, str | int | np.integer):
            raise DataError(f"{named_place(s, t)}: the label is {label!r}. A review needs complete labels")
    refuse_empty(table.lengths)
    # segment taggers have no rules and weights of labels
    rules, weights = as_rules(getattr(tagger, "forbidden", None)), getattr(tagger, "class_weight", None)
    left_out = LeftOut()
    kept, labels = fit_to_rules(y, table.lengths, rules, getattr(tagger, "outside", "skip"), left_out)
    left_out.report(rules)
    known = dict(zip(kept.tolist(), labels, strict=True))  # to learn from
    units = np.arange(len(table))
    if groups is None and isinstance(cv, int):
        first, ends = dict[bytes, int](), table.indptr[offsets_of(table.lengths)].tolist()
        copies = [first.setdefault(table.indices[a:b].tobytes(), a) for a, b in pairwise(ends)]
        groups = copies if cv <= len(first) < len(table) else None
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1]
    _, splits, _ = splits_of_examples(len(table), cv, True, groups, None, tagger.random_state)
    if len(splits) < 2 or sorted(s for _, test in splits for s in test.tolist()) != [*range(len(table))]:
        raise DataError(f"cv={cv!r}: each sequence must be held out exactly once, in two folds at least")
    is_segments = told_scheme(Counter(label for own in y for label in own)) is not None
    found, rows, rng = dict[int, Any](), dict[int, Any](), np.random.default_rng(tagger.random_state)
    scores, sizes = np.empty((2, len(splits), len(_SHARES)))
    for fold, (train, test) in enumerate(splits):
        train = np.intersect1d(train, kept)
        held_out, order = table.take(test), rng.permutation(np.unique(units[train]))
        for k, share in enumerate(_SHARES):  # of groups, which stay whole
            part = train[np.isin(units[train], order[: max(1, round(share * order.size))])]
            labels = [known[s] for s in part]
            model, found_labels = clone(tagger), {None}.union(*labels)
            if isinstance(rules, list):
                model.forbidden = [rule for rule in rules if found_labels.issuperset(rule)]
            if isinstance(weights, Mapping):
                model.class_weight = {k: w for k, w in weights.items() if k in found_labels}
            model.fit(table.take(part), labels, groups=None if groups is None else units[part])
            if model.status_ == "interrupted":
                raise KeyboardInterrupt
            of = segment_scores if is_segments else token_scores
            scores[fold, k] = of([y[s] for s in test], model.predict(held_out)).overall.f1
            sizes[fold, k] = part.size
        found.update(zip(test.tolist(), confidences(model, held_out, is_segments), strict=True))
        rows.update(zip(test.tolist(), model.predict_marginals(held_out), strict=True))
    told = [found[s] for s in range(len(y))]
    shares = [[p.get(k, 0.0) for k, p in zip(own, rows[s], strict=True)] for s, own in enumerate(y)]
    suspects = [
        Suspect(s, t, label, shares[s][t], one.labels[t], one.tokens[t])
        for s, (own, one) in enumerate(zip(y, told, strict=True))
        for t, label in enumerate(own)
        if label != one.labels[t]
    ]
    suspects.sort(key=lambda one: one.probability)
    measure = "F1 of segments" if is_segments else "accuracy of tokens"
    curve, reliable = LearningCurve(sizes.mean(axis=0), scores, measure), reliabilities(is_segments, told, y)
    return Review(y, [one.labels for one in told], shares, suspects, reliable, curve)


# --- the command ------------------------------------------------------------------------------------------


def review_tables(found: Review) -> list[Table]:
    """Scores and reliability."""
    table = new_table(
        "Probabilities of predicted labels", ["of"], ["mean", "share right", "calibration error"]
    )
    rows = [(what, *(f"{value:.4f}" for value in each.summary())) for what, each in found.reliability.items()]
    return [*TaggingScores.of(([], found.labels, found.predictions)).tables(), filled(table, rows)]


def suspects_table(
    found: Review, sentences: Sequence[tuple[ConllData, int]], column: str, is_long: bool = False
) -> Table:
    """The first suspects, with their words; a long table has more of them, and the words around."""
    most = min(_MOST_SHOWN if is_long else _MOST_PRINTED, len(found.suspects))
    title = f"Labels to look at: the first {most:,} of {len(found.suspects):,}"
    texts = ["place", "token", "given", "predicted", *["context"] * is_long]
    table, words_of = new_table(title, texts, ["probability", "of predicted"]), dict[int, Any]()
    for s, t, label, p, predicted, q in found.suspects[:most]:
        data, k = sentences[s]
        words = words_of.setdefault(id(data), data.sentences(column))[k]
        context = (shortened(word, _LONGEST) for word in words[max(t - _N_AROUND, 0) : t + _N_AROUND + 1])
        around = [" ".join(context)] * is_long
        table.add_row(data.place(k, t), words[t], label, predicted, *around, f"{p:.4f}", f"{q:.4f}")
    return table


def review_sections(found: Review, suspects: Table) -> Iterator[Section]:
    """Sections of a page."""
    from structune.html_reports.page import Section, Text
    from structune.html_reports.pictures import chart

    yield tables_section("Scores", *review_tables(found)[:-1])
    yield reliability_section(found.reliability)
    told = (
        "A model that was trained on the other folds predicts another label here. The first labels are the "
        "most likely errors of annotation; many others are errors of the model. A label that is not in the "
        "other folds has the probability 0."
    )
    yield Section("Labels to look at", [Text(told), *tables_section("", suspects).blocks])
    curve = found.curve

    def draw(axes: Axes) -> None:
        errors = curve.scores.std(axis=0, ddof=1) / len(curve.scores) ** 0.5
        axes.errorbar(curve.n_sequences, curve.scores.mean(axis=0), errors, fmt="o-", color=ACCENT, ms=4)

    told = f"Mean over {len(curve.scores)} folds, with its standard error. The table pools the folds."
    yield Section("Learning curve", [Text(str(curve)), chart(draw, "sequences", curve.measure, told)])
