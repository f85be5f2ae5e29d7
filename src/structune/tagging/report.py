"""Report pages of predicted labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from typing import Any

from structune.cli.reports import Predictions
from structune.files.text import plural
from structune.html_reports.page import Block, Fold, Section, Text, Tokens, make_table
from structune.html_reports.pictures import Probabilities
from structune.plots.figure import shortened
from structune.tagging.confidence import spans_of_labels
from structune.tagging.structure.labels import OUTSIDE, told_scheme

Words = Sequence[Sequence[str]]
Labelling = tuple[Sequence[str], float]  # labels of a sentence, and their probability
_MOST_DRAWN, _MOST_TOKENS, _MOST_RANKS = 20, 300, 5  # sentences, their tokens, and labellings of each
_MOST_UNSURE, _N_AROUND, _LONGEST = 50, 3, 24  # rows, tokens of context on each side, and letters of each
_MOST_SEGMENTS, _MOST_LABELS = 200, 100
_SURE, _UNSURE = 0.995, 0.8


class LabelReport(Predictions):
    """Labels of sentences: the first ones, the least sure ones, and counts of all."""

    name = "labelled.txt"

    def __init__(self, model: Any) -> None:
        self.has_probabilities: bool = model.has_probabilities
        self._scheme = told_scheme(model.classes_)
        self._n_sentences, self._counts, self._types = 0, Counter[str](), Counter[str]()
        self._sums, self._probabilities = defaultdict[str, float](float), Probabilities()
        self._unsure, self._segments = list[tuple[Any, ...]](), list[Sequence[str]]()
        self._drawn, self._has_ranks = list[Block](), False

    def add(self, words: Words, labels: Words, marginals: Any, ranked: Sequence[Sequence[Labelling]]) -> None:
        """Add sentences; `marginals` is None for models without probabilities, `ranked` may be empty."""
        first = self._n_sentences
        for s, (tokens, own) in enumerate(zip(words, labels, strict=True)):
            shares = self._add_probabilities(first + s, tokens, own, marginals[s]) if marginals else None
            if first + s < _MOST_DRAWN:
                self._draw(f"Sentence {first + s + 1}", tokens, own, shares, ranked[s] if ranked else ())
            self._counts.update(own)
        if self._scheme:
            self._add_segments(words, labels)
        self._n_sentences += len(words)

    def _add_probabilities(
        self, sentence: int, tokens: Sequence[str], labels: Sequence[str], rows: Sequence[dict[str, float]]
    ) -> list[float]:
        """Count the probabilities of the labels of a sentence, and keep the lowest; returns them."""
        shares = [row[label] for label, row in zip(labels, rows, strict=True)]
        self._probabilities.add(shares)
        least = []
        for t, (label, share) in enumerate(zip(labels, shares, strict=True)):
            self._sums[label] += share
            if share < _SURE:
                other, second = max((p, k) for k, p in rows[t].items() if k != label)[::-1]
                around = range(max(t - _N_AROUND, 0), min(t + _N_AROUND + 1, len(tokens)))
                context = " ".join(shortened(tokens[k], _LONGEST) for k in around)
                least.append((share, sentence, t, tokens[t], label, other, second, context))
        self._unsure = nsmallest(_MOST_UNSURE, [*self._unsure, *least])
        return shares

    def _add_segments(self, words: Words, labels: Words) -> None:
        for s, (tokens, own) in enumerate(zip(words, labels, strict=True), self._n_sentences + 1):
            for kind, start, stop in spans_of_labels(own, is_segments=True):
                self._types[kind] += 1
                if len(self._segments) < _MOST_SEGMENTS:
                    text = " ".join(shortened(token, _LONGEST) for token in tokens[start:stop])
                    self._segments.append((text, kind, f"{s:,}", f"{start + 1:,}"))

    def _draw(
        self,
        name: str,
        tokens: Sequence[str],
        labels: Sequence[str],
        shares: Sequence[float] | None,
        ranked: Sequence[Labelling],
    ) -> None:
        """Draw the labels of a sentence, and how its other labelings differ."""
        part = slice(_MOST_TOKENS)
        if len(tokens) > _MOST_TOKENS:
            name += f", tokens 1 to {_MOST_TOKENS} of {len(tokens):,}"
        told, unsure = labels[part], frozenset[int]()
        if shares is not None:
            both = list(zip(labels, shares[part], strict=False))
            told = [k if k == OUTSIDE and p >= _SURE else f"{k} {p:.2f}" for k, p in both]
            unsure = frozenset(t for t, (_, p) in enumerate(both) if p < _UNSURE)
        if ranked:
            self._has_ranks = True
            name += f", rank 1, probability {ranked[0][1]:.4g}"
        self._drawn += [Text(name), Tokens(list(zip(tokens[part], told, told, strict=True)), unsure)]
        for rank, (other, probability) in enumerate(ranked[1:_MOST_RANKS], start=2):
            differing = list(zip(tokens[part], other[part], labels[part], strict=True))
            self._drawn += [Text(f"Rank {rank}, probability {probability:.4g}"), Tokens(differing)]

    def headline(self) -> str:
        n = self._counts.total()
        told = [plural(self._n_sentences, "sentence"), f"{plural(n, 'token')} labeled"]
        if self._scheme:
            told.append(plural(self._types.total(), "segment"))
        if self.has_probabilities:
            told.append(f"mean probability of a label {sum(self._sums.values()) / max(n, 1):.3f}")
        return ", ".join(told)

    def sections(self) -> Iterator[Section]:
        yield Section("Labels", [*self._counts_blocks()])
        yield Section("Sentences", [Text(self._legend()), *self._drawn])
        if self._segments:
            yield Section("Segments", [*self._segment_blocks()])
        if self._unsure:
            yield Section("Least sure tokens", [*self._unsure_blocks()])

    def _legend(self) -> str:
        """How sentences are drawn, and which."""
        told = "The label of each token is below it"
        if self.has_probabilities:
            told += f", with its probability; those below {_UNSURE} are underlined."
        else:
            told += "."
        if OUTSIDE in self._counts:
            told += f" {OUTSIDE} is not shown"
            told += f" if its probability is {_SURE} or more." if self.has_probabilities else "."
        if self._has_ranks:
            told += " From rank 2 on, labels of rank 1 that differ are struck out, and the new labels follow."
        if (more := self._n_sentences - _MOST_DRAWN) > 0:
            told += f" These are the first {_MOST_DRAWN} sentences; {more:,} more are in the results."
        return told

    def _counts_blocks(self) -> Iterator[Block]:
        rows = []
        for label, n in self._counts.most_common():
            mean = [f"{self._sums[label] / n:.3f}"] if self.has_probabilities else []
            rows.append((label, f"{n:,}", f"{n / self._counts.total():.1%}", *mean))
        numbers = ["tokens", "share", *["mean probability"] * self.has_probabilities]
        yield make_table("", ["label"], numbers, rows, _MOST_LABELS)
        if self.has_probabilities:
            told = "Number of tokens by the probability of their predicted label."
            yield self._probabilities.histogram("tokens", told)

    def _unsure_blocks(self) -> Iterator[Block]:
        told = f"The tokens whose predicted label has the lowest probability, at most {_MOST_UNSURE}."
        yield Text(told)
        rows = [
            (token, label, other, context, f"{share:.3f}", f"{second:.3f}", f"{s + 1:,}", f"{t + 1:,}")
            for share, s, t, token, label, other, second, context in self._unsure
        ]
        names = ["token", "label", "next label", "context"]
        numbers = ["probability", "of the next label", "sentence", "position"]
        yield make_table("", names, numbers, rows, _MOST_UNSURE)

    def _segment_blocks(self) -> Iterator[Block]:
        rows = [(kind or "(no type)", f"{n:,}") for kind, n in self._types.most_common()]
        yield make_table("", ["type"], ["segments"], rows, _MOST_LABELS)
        n, more = len(self._segments), self._types.total() - len(self._segments)
        title = f"The first {n} segments; {more:,} more are in the results" if more else "All segments"
        table = make_table("", ["text", "type"], ["sentence", "first token"], self._segments, n)
        yield Fold(title, [table])
