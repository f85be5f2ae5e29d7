"""``structune evaluate``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from structune.cli.columns import Reader, open_model
from structune.cli.tables import print_tables, scores_table
from structune.estimators.tagger import SequenceTagger
from structune.formats import ConllData
from structune.metrics import Scores, segment_scheme, segment_scores, token_scores


@dataclass(frozen=True)
class Evaluation:
    """Scores of tokens and, where labels spell segments, of these."""

    tokens: Scores
    segments: Scores | None
    scheme: str | None

    def show(self) -> None:
        """Print it as tables."""
        tables = [scores_table("Tokens", "label", self.tokens)]
        if self.segments is not None:
            tables.append(scores_table(f"Segments ({self.scheme})", "type", self.segments))
        print_tables(*tables)

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "accuracy": self.tokens.overall.f1,
            "tokens": _as_dict(self.tokens),
            "scheme": self.scheme,
            "segments": self.segments and _as_dict(self.segments),
        }


def run(model_path: Path, file: Path, as_json: bool) -> None:
    """Show how well a model labels a file."""
    model, reader = open_model(model_path)
    evaluation = evaluate(model, reader, reader.read_labelled(file))
    if as_json:
        typer.echo(json.dumps(evaluation.as_dict(), indent=2))
    else:
        evaluation.show()


def evaluate(model: SequenceTagger, reader: Reader, data: ConllData) -> Evaluation:
    """Compare predictions with labels."""
    true, predicted = reader.labels(data), model.predict(reader.attributes(data))
    scheme = segment_scheme({*model.classes_, *data.columns[reader.columns[-1]]})
    segments = segment_scores(true, predicted) if scheme else None
    return Evaluation(token_scores(true, predicted), segments, scheme)


def _as_dict(scores: Scores) -> dict[str, Any]:
    by_name = {score.name: _values(score) for score in scores.by_name}
    return {"by_name": by_name, "overall": _values(scores.overall)}


def _values(score: Any) -> dict[str, Any]:
    values = score._asdict()
    del values["name"]
    return dict(values)
