"""Templates: attributes computed from columns of strings, such as neighbors, prefixes and shapes of tokens.

A template's text is also the start of its attributes' names: ``w[-1]|w[0]`` gives ``w[-1]|w[0]=the|dog``.

================  ===========================================================================
``w[-1]``         the value of column ``w`` one token before
``w[0].suffix3``  its last three characters; no attribute if it is shorter (also ``prefix3``)
``w[0].lower``    the value in lower case
``w[0].shape``    its shape: ``Xx`` for ``Hello``, ``d-d.d`` for ``1990-99.5``
``a|b|c``         conjunction of any of these
``w[-2..2]``      a window, short for ``w[-2] w[-1] w[0] w[1] w[2]``
``__BOS__``       at the first token of a sequence; ``__EOS__`` at the last
================  ===========================================================================

A template that reads beyond the ends of the sequence gives no attribute, as in CRFsuite.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import IntArray, offsets_of
from structune.tagging.features.attributes import AttributeTable, as_lengths
from structune.tagging.features.strings import Categorical, Strings

_COLUMN = r"[^\s,=|\[\]]+"
_OFFSET = r"[+-]?[0-9]{1,4}"
_TOKEN = re.compile(rf"({_COLUMN})\[({_OFFSET})\](?:\.(lower|shape|(prefix|suffix)([1-9][0-9]?)))?")
_WINDOW = re.compile(rf"\[({_OFFSET})\.\.({_OFFSET})\]")
_EXPECTED = "forms such as w[-1], w[0].suffix3, w[0].shape, w[-1]|w[0], __BOS__ and __EOS__"
# of the first column, and of each further one, in CRFsuite's chunking example
_WORDS = "{0}[-2..2] {0}[-1]|{0}[0] {0}[0]|{0}[1]"
_TAGS = (
    "{0}[-2..2] {0}[-2]|{0}[-1] {0}[-1]|{0}[0] {0}[0]|{0}[1] {0}[1]|{0}[2] "
    "{0}[-2]|{0}[-1]|{0}[0] {0}[-1]|{0}[0]|{0}[1] {0}[0]|{0}[1]|{0}[2]"
)
_LETTERS = (
    "{0}[0].lower {0}[0].prefix1 {0}[0].prefix2 {0}[0].prefix3 {0}[0].prefix4 "
    "{0}[0].suffix1 {0}[0].suffix2 {0}[0].suffix3 {0}[0].suffix4 "
    "{0}[-1].prefix3 {0}[-1].suffix3 {0}[1].prefix3 {0}[1].suffix3 "
    "{0}[0].shape {0}[-1].shape|{0}[0].shape {0}[0].shape|{0}[1].shape "
    "{0}[-1].shape|{0}[0].shape|{0}[1].shape"
)
_WORDS_AND_TAGS = "{0}[0]|{1}[-1..1] {0}[-1]|{1}[0] {0}[1]|{1}[0]"


class Template(ABC):
    """Rule that computes at most one attribute for each token. ``str(template)`` returns its text."""

    @abstractmethod
    def read(self, corpus: _Corpus) -> Categorical:
        """Return the value of the attribute at each token; the categories are the values that occur."""

    def names(self, values: Strings) -> Strings:
        """Return the name of the attribute with each of these values, such as ``w[0]=dog``."""
        n = np.arange(len(values))
        return Strings.joined(Strings.of([str(self)]), np.zeros_like(n), "=", values, n)


@dataclass(frozen=True)
class Token(Template):
    """The value of a column at an offset from the current token, ``w[-1]``.

    Parameters
    ----------
    column : str
        Name of the column, without whitespace and the characters ``,=|[]``.
    offset : int
        Position relative to the current token, -9999 to 9999: 1 is the next token, -1 the one before.
    """

    column: str
    offset: int = 0

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(str(self)):
            raise DataError(f"{str(self)!r} is not a template. Allowed: {_EXPECTED}")

    def __str__(self) -> str:
        return f"{self.column}[{self.offset}]"

    def read(self, corpus: _Corpus) -> Categorical:
        return self.read_token(corpus).compact()

    def read_token(self, corpus: _Corpus) -> Categorical:
        """Return the same values as `read`, without removing categories that do not occur."""
        column = corpus.column(self)
        return (column if type(self) is Token else column.map(self.view)).take(corpus.rows(self.offset))

    def view(self, value: str) -> str | None:
        """Convert a value of the column to the value of the attribute, or None for no attribute."""
        return value


@dataclass(frozen=True)
class Lower(Token):
    """A token in lower case, ``w[0].lower``."""

    def __str__(self) -> str:
        return f"{super().__str__()}.lower"

    def view(self, value: str) -> str | None:
        return value.lower()


@dataclass(frozen=True)
class Shape(Token):
    """The collapsed shape of a token, ``w[0].shape`` (Jurafsky & Martin's short word shape).

    Upper-case letters become ``X``, all other letters ``x``, and digits ``d``; other characters stay. Then
    each run of the same symbol is shortened to one: ``DC10-30`` gives ``Xd-d``, ``McDonald`` gives ``XxXx``.
    """

    def __str__(self) -> str:
        return f"{super().__str__()}.shape"

    def view(self, value: str) -> str | None:
        symbols = ("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in value)
        return "".join(symbol for symbol, _ in groupby(symbols))


@dataclass(frozen=True)
class _Affix(Token):
    size: int = 3

    def __str__(self) -> str:
        return f"{super().__str__()}.{type(self).__name__.lower()}{self.size}"


@dataclass(frozen=True)
class Prefix(_Affix):
    """The first `size` characters of a token, ``w[0].prefix3``; no attribute if the token is shorter."""

    def view(self, value: str) -> str | None:
        return value[: self.size] if len(value) >= self.size else None


@dataclass(frozen=True)
class Suffix(_Affix):
    """The last `size` characters of a token, ``w[0].suffix3``; no attribute if the token is shorter."""

    def view(self, value: str) -> str | None:
        return value[-self.size :] if len(value) >= self.size else None


@dataclass(frozen=True, init=False)
class Conjunction(Template):
    """Two or more tokens together, such as ``w[-1]|w[0]``; a part is a `Token` or a pair (column, offset).

    Values are joined by ``|`` without escaping, as in CRFsuite. If values contain ``|``, different pairs can
    give the same attribute: ``a|b`` and ``c`` the same as ``a`` and ``b|c``.
    """

    parts: tuple[Token, ...]

    def __init__(self, *parts: Token | tuple[str, int]) -> None:
        tokens = tuple(part if isinstance(part, Token) else Token(*part) for part in parts)
        if len(tokens) < 2:
            raise DataError(f"a conjunction needs at least 2 tokens, not {len(tokens)}")
        object.__setattr__(self, "parts", tokens)

    def __str__(self) -> str:
        return "|".join(map(str, self.parts))

    def read(self, corpus: _Corpus) -> Categorical:
        parts = [part.read_token(corpus) for part in self.parts]
        joined = reduce(lambda left, right: left.join(right, "|"), parts)
        ambiguous = any(ord("|") in part.categories.buffer for part in parts)
        return joined.map(str) if ambiguous else joined


@dataclass(frozen=True)
class Boundary(Template):
    """An attribute of the first token of each sequence (``__BOS__``) or of the last (``__EOS__``)."""

    text: str

    def __post_init__(self) -> None:
        if self.text not in ("__BOS__", "__EOS__"):
            raise DataError(f"{self.text!r} is not a boundary. Allowed: '__BOS__' and '__EOS__'")

    def __str__(self) -> str:
        return self.text

    def names(self, values: Strings) -> Strings:
        return values

    def read(self, corpus: _Corpus) -> Categorical:
        beyond = corpus.rows(-1 if self.text == "__BOS__" else 1) < 0
        return Categorical(beyond.astype(np.int32) - 1, Strings.of([self.text])).compact()


_VIEWS: dict[str, Any] = {view.__name__.lower(): view for view in (Lower, Shape, Prefix, Suffix)}


def parse_template(text: str) -> Template:
    """Make a template from its text; the inverse of ``str(template)``.

    Raises
    ------
    DataError
        The text is not a single template. For a window such as ``w[-2..2]``, use `parse_templates`.
    """
    if text in ("__BOS__", "__EOS__"):
        return Boundary(text)
    parts = list[Token]()
    for match in map(_TOKEN.fullmatch, text.split("|")):
        if match is None:
            raise DataError(f"{text!r} is not a template. Allowed: {_EXPECTED}")
        column, offset, view, affix, size = match.groups()
        given = (column, int(offset), *([] if size is None else [int(size)]))
        parts.append(_VIEWS.get(affix or view, Token)(*given))
    return parts[0] if len(parts) == 1 else Conjunction(*parts)


def parse_templates(templates: str | Iterable[str | Template]) -> list[Template]:
    """Make templates from text, separated by whitespace or commas, or from a list of texts and templates.

    Windows are expanded: ``w[-1..1]`` gives three templates. If several parts of a conjunction have the same
    window, they move together: ``w[0..1]|p[0..1]`` gives ``w[0]|p[0]`` and ``w[1]|p[1]``. Duplicates are
    removed. A text that is not a template raises `DataError`.
    """
    parsed = list[Template]()
    for item in [templates] if isinstance(templates, str) else templates:
        if isinstance(item, Template):
            parsed.append(item)
            continue
        for word in filter(None, re.split(r"[\s,]+", item)):
            match = _WINDOW.search(word)
            if match is None:
                parsed.append(parse_template(word))
                continue
            first, last = int(match[1]), int(match[2])
            if first > last:
                raise DataError(
                    f"the window {word!r} is empty: its first offset must not be larger than its last"
                )
            parsed += [parse_template(word.replace(match[0], f"[{k}]")) for k in range(first, last + 1)]
    return list(dict.fromkeys(parsed))


def window(column: str, first: int, last: int) -> list[Token]:
    """Make one `Token` template for each offset from `first` to `last`, both included."""
    return [Token(column, offset) for offset in range(first, last + 1)]


def extract(
    templates: str | Iterable[str | Template], columns: Mapping[str, Sequence[str]], lengths: Any
) -> AttributeTable:
    """Apply templates to many sequences and return the attributes of their tokens.

    Parameters
    ----------
    templates : str or iterable of str or Template
        Templates, as for `parse_templates`. The attributes of each token are in the order of the templates.
    columns : mapping of str to sequence of str
        Columns by name; each has one string per token, all sequences one after the other.
    lengths : array-like of int, shape (n_sequences,)
        Number of tokens in each sequence.

    Returns
    -------
    AttributeTable
        Table with the attributes that occur in these sequences.

    Raises
    ------
    DataError
        A template is invalid or names an unknown column; or a column has a wrong length or contains values
        that are not strings.
    """
    parsed = parse_templates(templates)
    corpus = _Corpus(columns, as_lengths(lengths))
    codes = np.empty((corpus.n_tokens, len(parsed)), dtype=np.int32)
    names, n_names = list[Strings](), 0
    for k, template in enumerate(parsed):
        values = template.read(corpus)
        # Codes of all templates share one numbering: those of a template follow those of the one before.
        codes[:, k] = np.where(values.codes < 0, -1, values.codes + n_names)
        names.append(template.names(values.categories))
        n_names += len(names[-1])
    given = codes >= 0
    indptr = offsets_of(given.sum(axis=1))
    return AttributeTable(corpus.lengths, indptr, codes[given], None, Strings.chained(names))


class _Corpus:
    """The columns that templates read, and where each token's neighbors are."""

    def __init__(self, columns: Mapping[str, Sequence[str]], lengths: IntArray) -> None:
        self.columns, self.lengths = columns, lengths
        self.n_tokens = int(lengths.sum())
        starts = np.cumsum(lengths) - lengths
        self.first = np.repeat(starts, lengths)
        self.last = np.repeat(starts + lengths - 1, lengths)
        self._categoricals: dict[str, Categorical] = {}
        self._rows: dict[int, IntArray] = {}

    def rows(self, offset: int) -> IntArray:
        """Each token's neighbor at the offset, -1 where the sequence ends before it."""
        if offset not in self._rows:
            rows = np.arange(self.n_tokens) + offset
            self._rows[offset] = np.where((rows >= self.first) & (rows <= self.last), rows, -1)
        return self._rows[offset]

    def column(self, template: Token) -> Categorical:
        """The column that a template reads, with its categories."""
        name = template.column
        if name not in self.columns:
            found = ", ".join(map(str, self.columns)) or "none"
            raise DataError(
                f"the template {str(template)!r} reads the column {name!r}, but the columns are {found}"
            )
        if name not in self._categoricals:
            given = self.columns[name]
            values = given.tolist() if isinstance(given, np.ndarray) else list(given)
            if len(values) != self.n_tokens:
                raise DataError(
                    f"column {name!r} has {len(values):,} values, but the lengths add up to "
                    f"{self.n_tokens:,} tokens"
                )
            try:
                self._categoricals[name] = Categorical.from_values(values)
            except TypeError:
                row = next(row for row, value in enumerate(values) if not isinstance(value, str))
                raise DataError(f"column {name!r}, token {row}: {values[row]!r} is not a string") from None
        return self._categoricals[name]


def conll2000_templates(word: str = "w", tag: str = "pos") -> list[Template]:
    """Make the templates of CRFsuite's chunking example (``example/chunking.py``), in the same order."""
    return symbol_templates(word, [tag])


def symbol_templates(symbol: str = "w", tags: Sequence[str] = ()) -> list[Template]:
    """Make templates for symbols: windows of 5 tokens, pairs of neighbors, and sequence ends.

    Use them for tokens whose spelling carries no information, such as bases, residues or events. `symbol` is
    the name of the column of symbols. `tags` are further columns, which also get templates for triples.

    Raises
    ------
    DataError
        `tags` is a string.
    """
    if isinstance(tags, str):
        raise DataError(f"tags={tags!r}: expected a list of columns")
    columns = [_WORDS.format(symbol), *(_TAGS.format(tag) for tag in tags)]
    return parse_templates([*columns, "__BOS__ __EOS__"])


def text_templates(word: str = "w", tags: Sequence[str] = ()) -> list[Template]:
    """Make templates for words: `symbol_templates`, spelling, and pairs of a word and a tag.

    They suit names, phrases and parts of speech. They are the default of the command line, unless all tokens
    are single letters.

    Parameters
    ----------
    word : str
        Name of the column of words.
    tags : sequence of str
        Names of columns with further information about each word, such as its part of speech.

    Returns
    -------
    list of Template

    Raises
    ------
    DataError
        `tags` is a string.
    """
    together = [_WORDS_AND_TAGS.format(word, tag) for tag in tags]
    return parse_templates([*symbol_templates(word, tags), _LETTERS.format(word), *together])
