"""Errors that users meet: each names the place, what was found, and what was expected."""


class StructuneError(ValueError):
    """Base of every error that structune raises for wrong input."""


class DataError(StructuneError):
    """An example, a file line or an array that cannot be used."""


class ModelFileError(StructuneError):
    """A model file that is corrupt, foreign, or of a version this release cannot read."""


class CapabilityError(StructuneError):
    """A structure was asked a question that it cannot answer exactly."""
