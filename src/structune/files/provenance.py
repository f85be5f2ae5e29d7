"""The version of structune and the model, as files of results name them."""

from __future__ import annotations

from pathlib import Path

import structune


def model_name(model: str | Path, *more: str) -> str:
    """The name of a model file without its folder, or a word such as ``pretrained``; then `more`, such as a
    node of its tree.
    """
    return _line(", ".join([Path(model).name, *more]))


def made_by(model: str = "") -> str:
    """A comment such as ``structune 0.1.0, model pretrained, e_coli``; without a model only the version."""
    return f"structune {structune.__version__}" + (f", model {_line(model)}" if model else "")


def json_keys(model: str = "") -> dict[str, str]:
    """The same as the last keys of a JSON object."""
    return {"structune": structune.__version__, **({"model": model} if model else {})}


def _line(text: str) -> str:
    """One line of printable letters, which may be a comment of any format."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
