"""Tuning: choose the regularisation from the data, whatever the structure."""

from importlib import import_module
from typing import Any

_HOMES = {
    "DirectTuner": "direct",
    "GridTuner": "grid",
    "ImplicitTuner": "implicit",
    "MajorizeTuner": "majorize",
    "TuningProblem": "problem",
    "TuningResult": "problem",
    "make_tuner": "problem",
}

__all__ = [
    "DirectTuner",
    "GridTuner",
    "ImplicitTuner",
    "MajorizeTuner",
    "TuningProblem",
    "TuningResult",
    "make_tuner",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'structune.learning.tuning' has no attribute {name!r}")
    return getattr(import_module(f"structune.learning.tuning.{_HOMES[name]}"), name)
