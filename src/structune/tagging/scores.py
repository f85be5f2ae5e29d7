"""How commands and reports show scores of tokens and segments, and the weights of a tagger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import click
from rich.table import Table

from structune.cli.files import binary_source
from structune.cli.terminal import filled, new_table, print_tables
from structune.errors import warn
from structune.files.models import check_class
from structune.files.text import some_of
from structune.tagging.confidence import confidences, reliabilities, reliability_section
from structune.tagging.conll import ConllData, Reader
from structune.tagging.crfsuite import load_either
from structune.tagging.explain import explain
from structune.tagging.metrics import Score, Scores, segment_scheme, segment_scores, token_scores
from structune.tagging.schemes import Pairs, also_in, pairs_of, scheme_name
from structune.tagging.structure.labels import told_scheme
from structune.tagging.tagger import SequenceTagger

if TYPE_CHECKING:
    from structune.html_reports.page import Block, Section
    from structune.tagging.options import Explaining


Labels = Sequence[Sequence[str]]
_SHOWN = 5  # labels in a warning
_MOST_CONFUSIONS, _MOST_SENTENCES, _N_EXAMPLES = 30, 20, 3
_MOST_TOKENS, _N_BEFORE = 300, 10  # of a sentence; of these before its first error
_END = "(none)"  # before the first label, and after the last


@dataclass(frozen=True)
class TaggingScores:
    """Scores of tokens and, if labels are BIO or BIOES, of segments."""

    tokens: Scores
    segments: Scores | None
    scheme: str | None
    sentences: tuple[Labels, Labels, Labels]  # tokens, labels, and predicted labels
    model: Any
    blocks: Sequence[tuple[Reader, ConllData]]

    @classmethod
    def of_blocks(cls, model: Any, blocks: Iterable[tuple[Reader, ConllData]]) -> Self:
        """Compare predictions with labels."""
        tokens, true, predicted, blocks = [], [], [], list(blocks)
        pairs = defaultdict[str, Pairs](set)  # of each file
        for reader, data in blocks:
            tokens += data.sentences(reader.columns[0])
            true += (labels := reader.labels(data))
            pairs[data.name] |= pairs_of(labels)
            predicted += model.predict(reader.attributes(data))
        counts = Counter(chain.from_iterable(true))
        told_scheme(dict.fromkeys(model.classes_, 0) | counts)
        _tell_unknown(model.classes_, {*counts})
        known = scheme_name(pairs_of([label] for label in model.classes_))
        same = {None, known}
        if known == "BIO" and not isinstance(model, SequenceTagger):
            same.add("IO")  # segment taggers write BIO if trained on IO, too
        schemes = {name: scheme_name(each) for name, each in pairs.items()} if known else {}
        others = [name for name, scheme in schemes.items() if scheme not in same]
        for name in others[:1]:
            told = f"the labels are {schemes[name]}, unlike in training. Convert them to {known}"
            warn(f"{name}: {told}{also_in(len(others) - 1)}")
        return cls.of((tokens, true, predicted), model, blocks)

    @classmethod
    def of(cls, sentences: tuple[Labels, Labels, Labels], model: Any = None, blocks: Any = ()) -> Self:
        """Compare labels with predicted ones."""
        _, true, predicted = sentences
        scheme = segment_scheme({*getattr(model, "classes_", ()), *chain(*true, *predicted)})
        segments = segment_scores(true, predicted) if scheme else None
        return cls(token_scores(true, predicted), segments, scheme, sentences, model, blocks)

    def tables(self) -> list[Table]:
        tables = [_scores_table("Tokens", "label", self.tokens)]
        if self.segments is not None:
            tables.append(_scores_table(f"Segments ({self.scheme})", "type", self.segments))
        return tables

    def as_dict(self) -> dict[str, Any]:
        return {
            "accuracy": self.tokens.overall.f1,
            "tokens": _as_dict(self.tokens),
            "scheme": self.scheme,
            "segments": self.segments and _as_dict(self.segments),
        }

    def sections(self) -> Iterator[Section]:
        sure = None
        if self.model.has_probabilities:
            blocks = (confidences(self.model, reader.attributes(data)) for reader, data in self.blocks)
            found = list(chain.from_iterable(blocks))
            sure = [one.tokens for one in found]
            is_segments = segment_scheme(self.model.classes_) is not None
            yield reliability_section(reliabilities(is_segments, found, self.sentences[1]))
        yield from error_sections(*self.sentences, sure)


def _tell_unknown(known: list[str], found: set[str]) -> None:
    """Warn if none of the labels of a file, except O, is a label of the model."""
    others = sorted(found - {"O"})
    if others and not {*others} & {*known}:
        warn(
            f"the model has none of the labels of the file{' except O' * ('O' in found)}. It has "
            f"{some_of(known, _SHOWN)}; the file has {some_of(others, _SHOWN)}. Check the file's columns"
        )


def _scores_table(title: str, what: str, scores: Scores) -> Table:
    """Precision, recall and F1 of each label or segment type, and of all."""
    table = new_table(title, [what], ["precision", "recall", "F1", "support"])
    *rows, last = (
        [score.name, *(f"{value:.4f}" for value in score[1:4]), f"{score.support:,}"]
        for score in scores.rows()
    )
    filled(table, rows).add_section()
    return filled(table, [last])


def _as_dict(scores: Scores) -> dict[str, Any]:
    values = [dict(zip(Score._fields[1:], score[1:], strict=True)) for score in scores.rows()]
    names = [score.name for score in scores.by_name]
    return {"by_name": dict(zip(names, values, strict=False)), "overall": values[-1]}


# --- pages ------------------------------------------------------------------------------------------------


def error_sections(
    tokens: Labels, true: Labels, predicted: Labels, sure: Sequence[Sequence[float]] | None = None
) -> Iterator[Section]:
    """Which labels are confused with which, and the worst sentences, by probabilities in `sure` if any."""
    from structune.html_reports.page import Section, Text, make_table

    sentences = [list(zip(*each, strict=True)) for each in zip(tokens, true, predicted, strict=True)]
    n_wrong = [sum(a != b for _, a, b in sentence) for sentence in sentences]
    told = (
        f"{sum(n_wrong):,} of {sum(map(len, sentences)):,} labels are wrong, in "
        f"{sum(map(bool, n_wrong)):,} of {len(sentences):,} sentences."
    )
    if not any(n_wrong):
        yield Section("Errors", [Text(told)])
        return
    wrong: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for token, a, b in chain.from_iterable(sentences):
        if a != b:
            wrong[a, b][token] += 1
    confusions = list[tuple[str, ...]]()
    for labels, words in sorted(wrong.items(), key=lambda item: -item[1].total()):
        n, frequent = words.total(), ", ".join(token for token, _ in words.most_common(_N_EXAMPLES))
        confusions.append((*labels, frequent, f"{n:,}", f"{n / sum(n_wrong):.1%}"))
    names = ["true", "predicted", "most frequent tokens"]
    table = make_table("Confusions", names, ["count", "share"], confusions, _MOST_CONFUSIONS)
    yield Section("Errors", [Text(told), table])

    def badness(s: int) -> float:
        if sure is None:
            return n_wrong[s]
        return max(p for p, (_, a, b) in zip(sure[s], sentences[s], strict=True) if a != b)

    first = "with the most errors" if sure is None else "with the most probable wrong label"
    drawn: list[Block] = [
        Text(
            f"Sentences {first} come first. The label of each token is below it; O is not shown. A wrong "
            "prediction is struck out and followed by the true label."
        )
    ]
    worst = sorted(filter(n_wrong.__getitem__, range(len(sentences))), key=badness, reverse=True)
    for s in worst[:_MOST_SENTENCES]:
        told = "" if sure is None else f", a wrong label with probability {badness(s):.3f}"
        drawn += _drawn(f"Sentence {s + 1:,}{told}", sentences[s])
    yield Section("Sentences with errors", drawn)


def _drawn(name: str, sentence: Sequence[tuple[str, str, str]]) -> tuple[Block, Block]:
    """A sentence; if it is very long, the part that begins a little before its first error."""
    from structune.html_reports.page import Text, Tokens

    if len(sentence) <= _MOST_TOKENS:
        return Text(name), Tokens(sentence)
    first = next(t for t, (_, a, b) in enumerate(sentence) if a != b)
    start = min(max(first - _N_BEFORE, 0), len(sentence) - _MOST_TOKENS)
    shown = f"{name}, tokens {start + 1:,} to {start + _MOST_TOKENS:,} of {len(sentence):,}"
    return Text(shown), Tokens(sentence[start : start + _MOST_TOKENS])


def print_weights(path: str, top: int) -> None:
    """Print the `top` largest and the `top` smallest weights of a tagger."""
    from structune.tagging.segment_tagger import SegmentTagger

    tagger: Any = check_class(load_either(path), (SequenceTagger, SegmentTagger), path, "a tagger")
    tables: list[tuple[str, list[str], Mapping[Any, float]]] = [
        ("transitions", ["from", "to"], tagger.transition_features_),
        ("trigrams", ["label", "next", "after that"], getattr(tagger, "trigram_features_", {})),
        ("state features", ["attribute", "label"], tagger.state_features_),
    ]
    print_tables(*(
        filled(new_table(f"{len(weights):,} {what}", names, ["weight"]), _rows(weights, top))
        for what, names, weights in tables
        if weights or what != "trigrams"
    ))  # fmt: skip


def _rows(weights: Mapping[Any, float], top: int) -> Iterator[Sequence[str]]:
    """The largest, falling, and then the smallest."""
    falling = sorted(weights.items(), key=lambda item: -item[1])
    is_cut = len(falling) > 2 * top
    for names, weight in falling[:top] if is_cut else falling:
        yield *(_END if name is None else str(name) for name in names), f"{weight:.4f}"
    if is_cut:
        yield "...", "", ""
        yield from _rows(dict(falling[-top:]), top)


def print_explanations(model: SequenceTagger, files: Sequence[str], explaining: Explaining) -> None:
    """Print why the first sentences of column files are labeled as they are."""
    reader, n_left = Reader.of_header(model.extra_, "the model"), explaining.sentences
    for file in files:
        for data in reader.read_inputs(binary_source(file), explaining):
            table, words = reader.attributes(data), data.sentences(reader.columns[0])
            for s in range(min(n_left, len(data))):
                told = explain(model, table.take([s])).text(words[s])
                click.echo(f"{data.place(s, 0)}\n{told}\n")
            n_left -= min(n_left, len(data))
            if not n_left:
                return
