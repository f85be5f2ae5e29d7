"""Errors and warnings that users meet: each names the place, what was found, and what was expected."""

from __future__ import annotations

import sys
import warnings


class StructuneError(ValueError):
    """Base of every error that structune raises for wrong input."""


class DataError(StructuneError):
    """An example, a file line or an array that cannot be used."""


class ModelFileError(StructuneError):
    """A model file that is corrupt, foreign, or of a version this release cannot read."""


class CapabilityError(StructuneError):
    """A structure was asked a question that it cannot answer exactly."""


class ClusterError(StructuneError):
    """A cluster that has lost what work needs: its scheduler, or workers that come back."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line that called structune, however deep below it the reason lies."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("structune."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
