"""Templates: attributes computed from columns of strings, such as neighbors, prefixes and shapes of tokens.

A template's text is also the start of its attributes' names: ``w[-1]|w[0]`` gives ``w[-1]|w[0]=the|dog``.

================  ===========================================================================
``w[-1]``         the value of column ``w`` one token before
``w[0].suffix3``  its last three characters; no attribute if it is shorter (also ``prefix3``)
``w[0].lower``    the value in lower case
``w[0].shape``    its shape: ``Xx`` for ``Hello``, ``d-d.d`` for ``1990-99.5``
``w[0].test:^\\d``  "true" if the value matches a pattern of Wapiti, else "false"
``w[0].match:\\d``  what the pattern matches, or an empty text (``lowermatch``: in lower case)
``w[-1].pad``       beyond the ends it has values, too: ``_x-1`` before the first token, ``_x+1`` after it
``a|b|c``         conjunction of any of these
``w[-2..2]``      a window, short for ``w[-2] w[-1] w[0] w[1] w[2]``
``__BOS__``       at the first token of a sequence; ``__EOS__`` at the last
================  ===========================================================================

A template that reads beyond the ends of the sequence gives no attribute, as in CRFsuite. `read_templates`
reads template files of CRF++ and Wapiti, whose templates give one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from itertools import groupby
from typing import Any, ClassVar
from urllib.parse import quote, unquote

import numpy as np

from structune.errors import DataError, warn
from structune.files.text import Lines, Source
from structune.structure import IntArray, offsets_of
from structune.tagging.features.attributes import AttributeTable, as_lengths
from structune.tagging.features.strings import Categorical, Strings

_COLUMN = r"[^\s,=|\[\]]+"
_OFFSET = r"[+-]?[0-9]{1,4}"
_TOKEN = re.compile(
    rf"({_COLUMN})\[({_OFFSET})\](\.pad)?"
    r"(?:\.(lower|shape|(prefix|suffix)([1-9][0-9]?)|(test|match|lowermatch):([^\s,=|\[\]]+)))?"
)
_COMMAND = re.compile(r'%([xtmXTM])\[\s*([+-]?\d{1,4})\s*,\s*(\d{1,4})\s*(?:,\s*"((?:[^"\\]|\\.)*)")?\s*\]')
# characters in patterns of Wapiti
_CLASSES = {"a": "A-Za-z", "d": "0-9", "l": "a-z", "u": "A-Z", "w": "A-Za-z0-9"}
_CLASSES |= {"s": r" \t-\r", "p": r"!-/:-@\[-`{-~"}
_SAFE = "!\"#$&'()*+-./:;<>?@\\^_`{}~"
_N_PADS = 5  # values beyond an end; the last is for all that are further away
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
    pad : bool
        Also give values beyond the ends of a sequence, such as ``_x-1``.
    """

    column: str
    offset: int = 0
    pad: bool = field(default=False, kw_only=True)
    _view: ClassVar[str] = ""  # as the text has it

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(str(self)):
            raise DataError(f"{str(self)!r} is not a template. Allowed: {_EXPECTED}")

    def __str__(self) -> str:
        return f"{self.column}[{self.offset}]{'.pad' * self.pad}{self._view}"

    def read(self, corpus: _Corpus) -> Categorical:
        return self.read_token(corpus).compact()

    def read_token(self, corpus: _Corpus) -> Categorical:
        """Return the same values as `read`, without removing categories that do not occur."""
        column = corpus.column(self)
        values = column.take(corpus.rows(self.offset))
        if self.pad:
            beyond = corpus.beyond(self.offset)
            codes = np.where(beyond > 0, len(column.categories) - 1 + beyond, values.codes).astype(np.int32)
            ends = [f"_x{'-' if self.offset < 0 else '+'}{n}" for n in (*range(1, _N_PADS), "#")]
            values = Categorical(codes, Strings.chained([column.categories, Strings.of(ends)])).map(str)
        return values if type(self) is Token else values.map(self.view)

    def view(self, value: str) -> str | None:
        """Convert a value of the column to the value of the attribute, or None for no attribute."""
        return value


@dataclass(frozen=True)
class Lower(Token):
    """A token in lower case, ``w[0].lower``."""

    _view = ".lower"

    def view(self, value: str) -> str | None:
        return value.lower()


@dataclass(frozen=True)
class Shape(Token):
    """The collapsed shape of a token, ``w[0].shape`` (Jurafsky & Martin's short word shape).

    Upper-case letters become ``X``, all other letters ``x``, and digits ``d``; other characters stay. Then
    each run of the same symbol is shortened to one: ``DC10-30`` gives ``Xd-d``, ``McDonald`` gives ``XxXx``.
    """

    _view = ".shape"

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


@dataclass(frozen=True)
class _Match(Token):
    """What a pattern of Wapiti says of a token: ``w[0].test:^\\d``, ``w[0].match:\\d``."""

    how: str = "match"
    pattern: str = "."

    def __str__(self) -> str:
        return f"{super().__str__()}.{self.how}:{quote(self.pattern, safe=_SAFE)}"

    def view(self, value: str) -> str | None:
        match = _regex(self.pattern).search(value)
        if self.how == "test":
            return "true" if match else "false"
        found = match[0] if match else ""
        return found.lower() if self.how == "lowermatch" else found


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    """A pattern of Wapiti as a regular expression: characters, classes, and the marks ``. ^ $ * ?``."""
    pieces = [r"\A"] if pattern.startswith("^") else []
    for match in re.finditer(r"(\\?.)([*?])?", pattern[len(pieces) :], re.DOTALL):
        character, times = match.groups()
        if character in ("*", "?", "\\"):
            raise DataError(f"the pattern {pattern!r} has {character!r} without a character to refer to")
        name = character[1:]
        if name and name.lower() in _CLASSES:
            piece = f"[{'^' * name.isupper()}{_CLASSES[name.lower()]}]"
        elif match[0] == "$" and not match.string[match.end() :]:
            piece = r"\Z"
        else:
            piece = "." if character == "." else re.escape(name or character)
        pieces.append(piece + {None: "", "*": "*?", "?": "?"}[times])
    return re.compile("".join(pieces), re.DOTALL)


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
        column, offset, pad, view, affix, size, how, pattern = match.groups()
        more = [int(size)] if size else [how, unquote(pattern)] if how else []
        make = _Match if how else _VIEWS.get(affix or view, Token)
        parts.append(make(column, int(offset), *more, pad=pad is not None))
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
                why = "its first offset must not be larger than its last"
                raise DataError(f"the window {word!r} is empty: {why}")
            parsed += [parse_template(word.replace(match[0], f"[{k}]")) for k in range(first, last + 1)]
    return list(dict.fromkeys(parsed))


def read_templates(source: Source, columns: Sequence[str]) -> list[Template]:
    """Read templates from a file: of CRF++, of Wapiti, or as text for `parse_templates`.

    Templates of CRF++ and Wapiti read columns by number. Beyond the ends of a sequence they have the values
    ``_x-1``, ``_x+1`` and so on, as in Wapiti. Classes of characters such as ``\\u`` are those of ASCII.

    Parameters
    ----------
    source : path or file object
        File in UTF-8. Lines that start with ``#`` are comments.
    columns : sequence of str
        Names of the columns before the label, in their order.

    Raises
    ------
    DataError
        Names the line of what models do not have: weights for pairs of an attribute and a transition (``B``
        or ``*`` with ``%x``), templates that share attributes, and templates without a token.
    """
    lines = Lines(source)
    given = [(number, text) for number, text in lines.filled() if text[0] != "#"]
    if not given:
        raise DataError(f"{lines.name}: there are no templates")
    is_own = not any(re.search(r"%[A-Za-z]\[|^[Bb*]\Z", text) for _, text in given)
    found, texts, has_transitions = dict[Template, int](), dict[str, int](), is_own
    for number, line in given:
        with lines.at(number):
            if is_own:
                found |= dict.fromkeys(parse_templates(line), number)
                continue
            text, _, comment = line.partition("#")
            if "%" in comment:
                raise DataError("'#' begins a comment in Wapiti, but not in CRF++. Use another character")
            if (text := text.rstrip()) in ("B", "b"):
                has_transitions = True
                continue
            template, around = _of_pattern(text, columns), _COMMAND.sub("%x", f"U{text[1:]}")
            if template in found:
                warn(f"{lines.name}:{number}: skipped the template, which repeats line {found[template]}")
            elif around in texts:
                same = f"line {texts[around]}, as the text around %x is the same"
                way_out = "Models do not have this: give each its own name, such as U01: and U02:"
                raise DataError(f"the template shares attributes with {same}. {way_out}")
            found.setdefault(template, number)
            texts.setdefault(around, number)
    if not found:
        raise DataError(f"{lines.name}: there are no templates with %x, which read tokens")
    if not has_transitions:
        warn(f"{lines.name} has no line B, but models always have weights of transitions between labels")
    return list(found)


def _of_pattern(text: str, columns: Sequence[str]) -> Template:
    """The template that a line of CRF++ or Wapiti describes."""
    if text[0] not in "Uu":
        why = ". Models have no weights for pairs of an attribute and a transition" * ("%" in text)
        raise DataError(f"{text!r} is not supported. Allowed: lines that begin with U, and B alone{why}")
    parts = list[Token]()
    for command, offset, number, pattern in _COMMAND.findall(text):
        if int(number) >= len(columns):
            known = ", ".join(f"{k} ({name})" for k, name in enumerate(columns))
            raise DataError(f"{text!r} reads column {number}. Columns before the label: {known}")
        if (command in "xX") == bool(pattern):
            raise DataError(f"{text!r}: %t and %m need a pattern in quotes, and %x has none")
        _regex(pattern)  # or an error
        make: Any = {"x": Token, "X": Lower}.get(command, _Match)
        how = {"m": "match", "M": "lowermatch"}.get(command, "test")
        more = [how, pattern] if pattern else []
        parts.append(make(columns[int(number)], int(offset), *more, pad=int(offset) != 0))
    if not parts or "%" in _COMMAND.sub("", text):
        raise DataError(f"{text!r} is not a template. Allowed: text with %x[-1,0], and %X, %t, %T, %m and %M")
    return parts[0] if len(parts) == 1 else Conjunction(*parts)


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

    def beyond(self, offset: int) -> IntArray:
        """How far each token's neighbor at the offset lies beyond the ends, at most `_N_PADS`."""
        rows = np.arange(self.n_tokens) + offset
        return np.clip(np.maximum(self.first - rows, rows - self.last), 0, _N_PADS)

    def column(self, template: Token) -> Categorical:
        """The column that a template reads, with its categories."""
        name = template.column
        if name not in self.columns:
            found = ", ".join(map(str, self.columns)) or "none"
            told = f"the template {str(template)!r} reads the column {name!r}"
            raise DataError(f"{told}, but the columns are {found}")
        if name not in self._categoricals:
            given = self.columns[name]
            values = given.tolist() if isinstance(given, np.ndarray) else list(given)
            if len(values) != self.n_tokens:
                told = f"the lengths add up to {self.n_tokens:,} tokens"
                raise DataError(f"column {name!r} has {len(values):,} values, but {told}")
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
        `tags` is a string, or a name cannot be that of a column.
    """
    if isinstance(tags, str):
        raise DataError(f"tags={tags!r}: expected a list of columns")
    for name in (symbol, *tags):
        if not re.fullmatch(_COLUMN, name):
            raise DataError(f"the column name {name!r} must be without white space and , = | [ ]")
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
