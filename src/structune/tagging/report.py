"""The errors of a tagger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from structune.html_reports.page import Block, Section, Text, Tokens
from structune.html_reports.tables import make_table

_MOST_CONFUSIONS, _MOST_SENTENCES, _N_EXAMPLES = 30, 20, 3
_MOST_TOKENS, _N_BEFORE = 300, 10  # of a sentence; of these before its first error
Labels = Sequence[Sequence[str]]
Confusion = tuple[str, str]


def tagging_sections(tokens: Labels, true: Labels, predicted: Labels) -> Iterator[Section]:
    """Which labels are taken for which, and the sentences with the most errors."""
    sentences = [list(zip(*each, strict=True)) for each in zip(tokens, true, predicted, strict=True)]
    n_wrong = [sum(a != b for _, a, b in sentence) for sentence in sentences]
    told = (
        f"{sum(n_wrong):,} of {sum(map(len, sentences)):,} labels are wrong, in "
        f"{sum(map(bool, n_wrong)):,} of {len(sentences):,} sentences."
    )
    yield Section("Errors", [Text(told), *_confusions(sentences)])
    worst = sorted(filter(n_wrong.__getitem__, range(len(sentences))), key=lambda s: -n_wrong[s])
    if worst:
        yield Section("Sentences with the most errors", list(_drawn(sentences, worst[:_MOST_SENTENCES])))


def _confusions(sentences: Sequence[Sequence[tuple[str, str, str]]]) -> Iterator[Block]:
    wrong: dict[Confusion, Counter[str]] = defaultdict(Counter)
    for token, a, b in chain.from_iterable(sentences):
        if a != b:
            wrong[a, b][token] += 1
    if not wrong:
        return
    total = sum(map(Counter.total, wrong.values()))
    rows = [
        (*labels, ", ".join(token for token, _ in of.most_common(_N_EXAMPLES)), n, n / total)
        for labels, of in wrong.items()
        for n in [of.total()]
    ]
    rows.sort(key=lambda row: -row[3])
    yield make_table(
        "What is taken for what",
        ["true", "predicted", "most often"],
        ["count", "share"],
        [(*texts, f"{n:,}", f"{share:.1%}") for *texts, n, share in rows],
        _MOST_CONFUSIONS,
    )


def _drawn(sentences: Sequence[Sequence[tuple[str, str, str]]], chosen: Sequence[int]) -> Iterator[Block]:
    yield Text(
        "Below each token stands its label, but for O; where the prediction errs, it is struck out before it."
    )
    for s in chosen:
        yield from _shown(f"Sentence {s + 1:,}", sentences[s])


def _shown(name: str, sentence: Sequence[tuple[str, str, str]]) -> Iterator[Block]:
    """A sentence; of a very long one the part that begins with its first error."""
    if len(sentence) <= _MOST_TOKENS:
        yield Text(name)
        yield Tokens(sentence)
        return
    first = next(t for t, (_, a, b) in enumerate(sentence) if a != b)
    start = min(max(first - _N_BEFORE, 0), len(sentence) - _MOST_TOKENS)
    yield Text(f"{name}, tokens {start + 1:,} to {start + _MOST_TOKENS:,} of {len(sentence):,}")
    yield Tokens(sentence[start : start + _MOST_TOKENS])
