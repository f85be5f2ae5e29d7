"""Reads the log of a training run of CRFsuite, or of `structune.compat.pycrfsuite.Trainer`, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_NUMBER = r"(\d+\.\d+)"
_ENTRIES: tuple[tuple[str, re.Pattern[str], Callable[[str], Any]], ...] = (
    ("loss", re.compile(f"Loss: {_NUMBER}"), float),
    ("feature_norm", re.compile(f"Feature norm: {_NUMBER}"), float),
    ("error_norm", re.compile(f"Error norm: {_NUMBER}"), float),
    ("active_features", re.compile(r"Active features: (\d+)"), int),
    ("linesearch_trials", re.compile(r"Line search trials: (\d+)"), int),
    ("linesearch_step", re.compile(f"Line search step: {_NUMBER}"), float),
    ("time", re.compile(f"Seconds required for this iteration: {_NUMBER}"), float),
)
_AVERAGES = re.compile(rf"Macro-average precision, recall, F1: \({_NUMBER}, {_NUMBER}, {_NUMBER}\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.]+|\*+), ([\d.]+|\*+), ([\d.]+|\*+)\)")


class LabelScore(NamedTuple):
    """Counts and scores of a label: correct, predicted and annotated tokens; None for 0/0."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Parser of a training log, with the attributes of python-crfsuite's parser of this name.

    Attributes
    ----------
    iterations : list of dict
        Numbers of each iteration, such as "num", "loss" and "time"; with a holdout also its scores.
    last_iteration : dict or None
        The last of them.
    featgen_percent : int
        Progress of the generation of features.
    featgen_num_features, featgen_seconds, training_seconds, storing_seconds : int, float or None
        Numbers from the log.
    log, events : list
        All lines, and events as (name, first line, end).
    """

    def __init__(self) -> None:
        self.state = "start"
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take a line; return the event that it ends, such as "iteration", or None."""
        self.log.append(line)
        event: str | None = getattr(self, f"_in_{self.state}")(line)
        if event is not None:
            # the line that begins the next part does not belong to the text of these events
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2] if self.events else 0, end))
        return event

    @property
    def last_log(self) -> str:
        """Text of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def _in_start(self, line: str) -> str:
        self.state = "features" if line.startswith("Feature generation") else "settings"
        return "start"

    def _in_settings(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "features"

    def _in_features(self, line: str) -> str | None:
        if line in {".", *map(str, range(11))}:
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "preparation"
            return "featgen_end"
        return None

    def _in_preparation(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "between"
            return "prepare_error"
        return None

    def _begin(self, line: str) -> None:
        found = _HEAD.match(line)
        assert found is not None
        self.last_iteration = {"num": int(found[1]), "scores": {}}
        self.iterations.append(self.last_iteration)
        self.state = "iteration"

    def _in_iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "between"
            return "iteration"
        told = self.last_iteration
        assert told is not None
        for name, pattern, kind in _ENTRIES:
            if found := pattern.match(line):
                told[name] = kind(found[1])
        if found := _AVERAGES.match(line):
            told["avg_precision"], told["avg_recall"], told["avg_f1"] = map(float, found.groups())
        if found := _ACCURACY.match(line):
            name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]))
            told[name], told[f"{name}_float"] = share, float(share)
        if found := _LABEL.match(line):
            scores = (None if "*" in text else float(text) for text in found.groups()[4:])
            told["scores"][found[1]] = LabelScore(int(found[2]), int(found[3]), int(found[4]), *scores)
        return None

    def _in_between(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
        elif found := re.match(f"Total seconds required for training: {_NUMBER}", line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        return None

    def _in_storing(self, line: str) -> str | None:
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return "end" if line == "\n" else None
