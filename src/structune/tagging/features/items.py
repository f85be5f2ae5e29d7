"""Attributes of tokens that are lists of strings or dicts, read many tokens at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import FloatArray, IntArray
from structune.tagging.features.strings import Strings

_TOKENS = 1 << 10  # at a time: their strings stay in the caches
NUMBERS = (float, int, np.floating, np.integer, np.bool_)
_PLAIN = {str, float, int, bool, np.float64}


@dataclass(frozen=True)
class Block:
    """The attributes of some sequences.

    Attributes
    ----------
    lengths : list of int
        Tokens in each sequence.
    counts : ndarray of int64, shape (n_tokens,)
        Attributes of each token.
    strings : Strings
        The names of all attributes.
    name_of : function from an attribute's position to its name
    values : ndarray of float64, shape (n_attributes,), or None
        None stands for ones.
    """

    lengths: list[int]
    counts: IntArray
    strings: Strings
    name_of: Callable[[int], str]
    values: FloatArray | None


def read_blocks(X: Iterable[Sequence[Any]]) -> Iterator[Block]:
    """The attributes of sequences, lists of tokens, in runs of sequences.

    Raises
    ------
    DataError
        Names the sequence and token of the first attribute that cannot be used.
    """
    some: list[Sequence[Any]] = []
    lengths: list[int] = []
    first = n_tokens = 0
    for s, sequence in enumerate(X):
        lengths.append(_length(s, sequence))
        some.append(sequence)
        n_tokens += lengths[-1]
        if n_tokens >= _TOKENS:
            yield _read(some, lengths, first)
            some, lengths, first, n_tokens = [], [], s + 1, 0
    yield _read(some, lengths, first)


def _length(s: int, sequence: Any) -> int:
    if isinstance(sequence, str) or not isinstance(sequence, Sequence | np.ndarray):
        raise DataError(f"sequence {s}: found {type(sequence).__name__}, expected a list of tokens")
    return len(sequence)


def _read(sequences: list[Sequence[Any]], lengths: list[int], first: int) -> Block:
    tokens = list(chain.from_iterable(sequences))
    kinds = set(map(type, tokens))
    try:
        if kinds <= {list, tuple}:
            return _of_lists(tokens, lengths)
        if kinds == {dict}:
            return _of_dicts(tokens, lengths)
    except (TypeError, OverflowError):  # what only the long way can read, or can tell of
        pass
    return _of_any(sequences, lengths, first)


def _counts(tokens: list[Any]) -> IntArray:
    return np.fromiter(map(len, tokens), np.int64, len(tokens))


def _of_lists(tokens: list[Any], lengths: list[int]) -> Block:
    names = list(chain.from_iterable(tokens))
    return Block(lengths, _counts(tokens), Strings.of(names), names.__getitem__, None)


def _of_dicts(tokens: list[Any], lengths: list[int]) -> Block:
    keys, texts = list(chain.from_iterable(tokens)), list(chain.from_iterable(map(dict.values, tokens)))
    kinds = set(map(type, texts))
    if not kinds <= _PLAIN:
        raise TypeError
    others = [i for i, text in enumerate(texts) if type(text) is not str] if kinds != {str} else []
    has_text, values = np.ones(len(texts), bool), np.ones(len(texts))
    has_text[others], values[others] = False, [texts[i] for i in others]
    for i in others:
        texts[i] = ""

    def name_of(i: int) -> str:
        return f"{keys[i]}={texts[i]}" if has_text[i] else keys[i]

    return Block(
        lengths, _counts(tokens), Strings.of_pairs(keys, texts, has_text), name_of, values if others else None
    )


# --- token by token -----------------------------------------------------------------------------------------


def _of_any(sequences: list[Sequence[Any]], lengths: list[int], first: int) -> Block:
    counts: list[int] = []
    names: list[str] = []
    values: list[float] = []
    for s, sequence in enumerate(sequences, first):
        for t, token in enumerate(sequence):
            before = len(names)
            try:
                _append(token, names, values)
            except (TypeError, OverflowError) as error:
                raise DataError(f"sequence {s}, token {t}: {error}") from None
            counts.append(len(names) - before)
    return Block(
        lengths,
        np.array(counts, np.int64),
        Strings.of(names),
        names.__getitem__,
        np.array(values, np.float64),
    )


def _append(token: Any, names: list[str], values: list[float]) -> None:
    if isinstance(token, Mapping):
        _append_mapping(token, "", names, values)
    elif isinstance(token, Iterable) and not isinstance(token, str | bytes):
        attributes = list(token)
        wrong = [a for a in attributes if not isinstance(a, str)]
        if wrong:
            raise TypeError(f"found the attribute {wrong[0]!r}, expected a string")
        names += attributes
        values += repeat(1.0, len(attributes))
    else:
        raise TypeError(f"found {token!r}, expected a list of strings or a dict")


def _append_mapping(mapping: Mapping[Any, Any], prefix: str, names: list[str], values: list[float]) -> None:
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, str):
            names.append(f"{name}={value}")
            values.append(1.0)
        elif isinstance(value, NUMBERS):
            names.append(name)
            values.append(float(value))
        elif isinstance(value, Mapping):
            _append_mapping(value, f"{name}=", names, values)
        else:
            _append_several(value, name, names, values)


def _append_several(value: Any, name: str, names: list[str], values: list[float]) -> None:
    """Strings are attributes, numbers are columns."""
    several = listed(value)
    if are_columns(several, value, name):
        names += column_names(name, len(several))
        values += map(float, several)
    else:
        names += [f"{name}={item}" for item in several]
        values += repeat(1.0, len(several))


def listed(value: Any) -> list[Any]:
    """What several values of one attribute are; of what is not several a list of it alone."""
    if isinstance(value, np.ndarray):
        return list(np.atleast_1d(value).tolist())
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def are_columns(several: list[Any], value: Any, name: str) -> bool:
    """Whether values of one attribute are numbers, which are columns, not strings, which are attributes.

    Raises
    ------
    TypeError
        They are neither: not of one type, or numbers in a set, which has no order.
    """
    if all(isinstance(item, str) for item in several):
        return False
    if not isinstance(value, list | tuple | set | frozenset | np.ndarray):
        raise TypeError(f"found {value!r} for the attribute {name!r}, expected a number or a string")
    if isinstance(value, set | frozenset) or not all(isinstance(item, NUMBERS) for item in several):
        raise TypeError(
            f"found {value!r} for the attribute {name!r}, expected strings only, which are attributes, "
            "or a list of numbers only, which are columns"
        )
    return True


@lru_cache(maxsize=64)
def column_names(name: str, n: int) -> list[str]:
    """Names of the columns of an array; all are of one template."""
    return [f"{name}:{j}" for j in range(n)]
