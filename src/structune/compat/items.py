"""Tokens and labels as python-crfsuite takes them, and as `structune.tagging` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from structune.files.inputs import as_list

Token = list[str] | dict[str, Any]


def as_tokens(X: Any) -> list[list[Token]]:
    """Sequences of tokens, of which each is a list of names, or a dict from names to numbers.

    Names are those that python-crfsuite makes of nested items: ``key:value`` of a string, and of each string
    in a list or set; ``key:name`` of what is in a dict below. Bytes are UTF-8.

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
        return dict(_named(item, ""))
    if isinstance(item, Iterable) and not isinstance(item, str | bytes):
        return [_text(name) for name in item]
    return item  # which is refused with its place


def _named(item: Mapping[Any, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    for key, value in item.items():
        name = f"{prefix}{_text(key)}"
        if isinstance(value, str | bytes):
            yield f"{name}:{_text(value)}", 1.0
        elif isinstance(value, Mapping):
            yield from _named(value, f"{name}:")
        elif isinstance(value, list | tuple | set | frozenset):
            yield from ((f"{name}:{_text(each)}", 1.0) for each in value)
        else:
            yield name, value


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
