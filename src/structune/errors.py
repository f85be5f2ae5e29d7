"""Errors and warnings for users: each says what is wrong, where, and what to do."""

from __future__ import annotations

import sys
import warnings


class StructuneError(ValueError):
    """Base class of all errors that structune raises for invalid input."""


class DataError(StructuneError):
    """An example, a line of a file, an array or a parameter is invalid."""


class ModelFileError(StructuneError):
    """A model file is damaged, is not a model file, or has a version that this release cannot read."""


class CapabilityError(StructuneError):
    """A model or structure does not support the operation, such as probabilities with the margin loss."""


class ClusterError(StructuneError):
    """A cluster has lost its scheduler, or its workers did not come back."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of user code that called structune."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("structune."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
