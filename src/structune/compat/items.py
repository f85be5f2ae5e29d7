"""Tokens and labels as python-crfsuite takes them, and as `structune.tagging` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from structune.files.inputs import as_list
from structune.tagging.features.items import NUMBERS, are_columns, column_names, listed

Token = list[str] | dict[str, Any]


def as_tokens(X: Any) -> list[list[Token]]:
    """Sequences of tokens, of which each is a list of names, or a dict from names to numbers.

    Names are those that python-crfsuite makes of nested items: ``key:value`` of a string, and of each string
    in a list or set; ``key:name`` of what is in a dict below. Bytes are UTF-8. A list or array of numbers,
    which python-crfsuite refuses, is the attributes ``key:0``, ``key:1``, ... with these values.

    Parameters
    ----------
    X : iterable of sequences
        Lists of dicts or of lists of strings, or ``pycrfsuite.ItemSequence``.
    """
    return [tokens_of(xseq) for xseq in as_list(X, "sequences")]


def tokens_of(xseq: Any) -> list[Token]:
    """Those of one sequence."""
    is_packed = hasattr(xseq, "items") and not isinstance(xseq, Iterable)  # a pycrfsuite.ItemSequence
    items = xseq.items() if is_packed else xseq
    return [_token(item) for item in as_list(items, "tokens")]


def as_labels(y: Any) -> list[list[Any]]:
    """The labels of sequences; bytes are UTF-8."""
    return [[_text(label) for label in as_list(yseq, "labels")] for yseq in as_list(y, "label sequences")]


def _token(item: Any) -> Any:
    if isinstance(item, Mapping):
        names: list[str] = []
        values: list[Any] = []
        token: dict[str, Any] = {}
        try:
            _collect(item, "", names, values)
            if values.count(1) == len(values):  # names alone are read faster, and most have the value 1
                return names
            for name, value in zip(names, values, strict=True):
                token[name] = token.get(name, 0.0) + value
        except (TypeError, OverflowError):
            return item  # which is refused with its place
        return token
    if isinstance(item, Iterable) and not isinstance(item, str | bytes):
        return [_text(name) for name in item]
    return item  # which is refused with its place


def _collect(item: Mapping[Any, Any], prefix: str, names: list[str], values: list[Any]) -> None:
    for key, value in item.items():
        name = f"{prefix}{_text(key)}" if prefix or type(key) is not str else key
        if type(value) is str:  # the common case first: this runs once an attribute
            names.append(f"{name}:{value}")
            values.append(1)
        elif isinstance(value, NUMBERS):
            names.append(name)
            values.append(value)
        elif isinstance(value, str | bytes):
            names.append(f"{name}:{_text(value)}")
            values.append(1)
        elif isinstance(value, Mapping):
            _collect(value, f"{name}:", names, values)
        else:
            several = list(map(_text, listed(value)))
            if are_columns(several, value, name):
                names += column_names(name, len(several))
                values += several
            else:
                names += [f"{name}:{each}" for each in several]
                values += [1] * len(several)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
