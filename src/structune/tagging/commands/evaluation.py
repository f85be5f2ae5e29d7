"""``structune evaluate``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from structune.cli.checks import check_apart, check_targets
from structune.cli.reports import tell
from structune.cli.settings import Telling
from structune.cli.tables import filled, new_table
from structune.errors import warn
from structune.files.text import some_of
from structune.tagging.commands.columns import Reader, open_model
from structune.tagging.commands.options import Format
from structune.tagging.conll import ConllData
from structune.tagging.metrics import Score, Scores, segment_scheme, segment_scores, token_scores
from structune.tagging.tagger import SequenceTagger

if TYPE_CHECKING:
    from structune.html_reports import Section

Labels = list[list[str]]
_SHOWN = 5  # labels in a warning


@dataclass(frozen=True)
class Evaluation:
    """Scores of tokens and, where labels spell segments, of these."""

    tokens: Scores
    segments: Scores | None
    scheme: str | None
    sentences: tuple[Labels, Labels, Labels]  # tokens, labels, and predicted ones

    def tables(self) -> list[Table]:
        """As the terminal shows it."""
        tables = [_scores_table("Tokens", "label", self.tokens)]
        if self.segments is not None:
            tables.append(_scores_table(f"Segments ({self.scheme})", "type", self.segments))
        return tables

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "accuracy": self.tokens.overall.f1,
            "tokens": _as_dict(self.tokens),
            "scheme": self.scheme,
            "segments": self.segments and _as_dict(self.segments),
        }

    def sections(self) -> Iterator[Section]:
        """As a page shows it."""
        from structune.tagging.report import tagging_sections

        return tagging_sections(*self.sentences)


def run(model_path: Path, file: Path, reading: Format, telling: Telling) -> None:
    """Show how well a model labels a file."""
    check_targets([], [], telling.report)
    check_apart([model_path, file], [telling.report])
    model, reader = open_model(model_path)
    tell(evaluate(model, reader, reader.read_labelled(file, reading)), telling)


def evaluate(model: SequenceTagger, reader: Reader, blocks: Iterable[ConllData]) -> Evaluation:
    """Compare predictions with labels."""
    tokens, true, predicted = Labels(), Labels(), Labels()
    for data in blocks:
        tokens += data.sentences(reader.columns[0])
        true += reader.labels(data)
        predicted += model.predict(reader.attributes(data))
    _tell_unknown(model.classes_, {label for labels in true for label in labels})
    scheme = segment_scheme({*model.classes_, *chain.from_iterable(true)})
    segments = segment_scores(true, predicted) if scheme else None
    return Evaluation(token_scores(true, predicted), segments, scheme, (tokens, true, predicted))


def _tell_unknown(known: list[str], found: set[str]) -> None:
    """Warn if the labels of a file are none of the model's, but for O."""
    others = sorted(found - {"O"})
    if others and not {*others} & {*known}:
        warn(
            f"the model knows none of the labels of the file{' but O' * ('O' in found)}: it has "
            f"{some_of(known, _SHOWN)}; the file has {some_of(others, _SHOWN)}. Have both the same columns?"
        )


def _scores_table(title: str, what: str, scores: Scores) -> Table:
    """Precision, recall and F1 of each label or segment type, and of all."""
    table = new_table(title, [what], ["precision", "recall", "F1", "support"])
    filled(table, map(_score_row, scores.by_name)).add_section()
    return filled(table, [_score_row(scores.overall)])


def _score_row(score: Score) -> list[str]:
    return [score.name, *(f"{value:.4f}" for value in score[1:4]), f"{score.support:,}"]


def _as_dict(scores: Scores) -> dict[str, Any]:
    by_name = {score.name: _values(score) for score in scores.by_name}
    return {"by_name": by_name, "overall": _values(scores.overall)}


def _values(score: Any) -> dict[str, Any]:
    values = score._asdict()
    del values["name"]
    return dict(values)
