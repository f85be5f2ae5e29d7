"""CoNLL column files: one token per line, columns separated by whitespace, blank lines between sentences.

`Reader` reads them for one model: it knows the names of the columns and the templates of the attributes.
"""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, ModelFileError, warn
from structune.files.looks_like import named_by_look
from structune.files.text import Source, line_blocks, plural, save, source_name
from structune.running.memory import batch_memory, batches
from structune.structure import place_of
from structune.tagging.annotated import NAME_ENCODING, SPANS, Example, read_annotated, recoded
from structune.tagging.annotated import told as told_of
from structune.tagging.column_look import AUTO, COLUMNS, METADATA, TAB, Layout, layout_of
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.templates import (
    Template,
    extract,
    parse_templates,
    read_templates,
    symbol_templates,
    text_templates,
)
from structune.tagging.label_predictions import cut
from structune.tagging.schemes import SCHEMES, Pairs, common_scheme, converted, pairs_of

if TYPE_CHECKING:
    from structune.tagging.options import Format, Learning

TOKEN = 4000  # bytes that the columns and attributes of a token take
_BLANK = " \t\r\n\v\f"
_BREAKS = re.compile(f"[{_BLANK}]")
ALL = 1 << 62  # lines, more than any file has
_PIECE = 1 << 18  # bytes that are split at a time
_HEAD = 1 << 16  # that are looked at
_BOM = b"\xef\xbb\xbf"
_DOCSTART = b"-DOCSTART-"
# CoNLL-U numbers multiword tokens 2-3 and empty nodes 4.1.
_JOINT = re.compile(rb"\d+([-.])\d+(?=\s|\Z)")
_FIRST_NUMBER = re.compile(rb"\d{1,18}")
_NUMBER_NAMES = ("id", "i", "n", "no", "nr", "num", "number", "index", "idx", "c0", "_")
_QUOTED = {  # fields as CSV quotes them; between tabs "these" may be tokens, but not those that hold quotes
    by.decode(): re.compile(rb'(?:^|%b)("%b(?:[^"]|"")*")(?=%b|\Z)' % (by, begin, by))
    for by, begin in ((b",", b""), (b";", b""), (b"\t", b'[^"\t]*""'))
}
_REPLACED = re.compile(r"_?\Z|Probability=")  # in MISC
_MOST_COLUMNS = 10_000  # where all are read: each takes time and memory, however few tokens it has


@dataclass(frozen=True)
class ConllData:
    """Columns of a column file, or of a block of its sentences.

    Attributes
    ----------
    columns : dict of str to list of str
        Columns by name. Each has one string per token, all sentences one after the other.
    lengths : ndarray of int64, shape (n_sentences,)
        Number of tokens in each sentence, at least 1.
    lines : ndarray of int64, shape (n_tokens,), optional
        Line number of each token in its file, from 1.
    name : str
        Name of the file.
    separator : str
        Column separator for writing: a tab if values contain spaces or are empty.
    between : tuple of (int, bytes), optional
        Of CoNLL-U files to label: lines that are no tokens, each with the number of tokens before it.
    """

    columns: dict[str, list[str]]
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64] | None = None
    name: str = ""
    separator: str = " "
    between: tuple[tuple[int, bytes], ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if np.any(empty := self.lengths < 1):
            raise DataError(f"sentence {int(np.argmax(empty))} is empty: at least one token is needed")
        for name, values in self.columns.items():
            if len(values) != self.n_tokens:
                told = f"there are {self.n_tokens:,} tokens"
                raise DataError(f"column {name!r} has {len(values):,} values, but {told}")

    def __len__(self) -> int:
        return self.lengths.size

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all sentences."""
        return int(self.lengths.sum())

    def sentences(self, column: str) -> list[list[str]]:
        """Return one column as a list of sentences, each a list of strings."""
        if column not in self.columns:
            raise DataError(f"there is no column {column!r}. The columns are {', '.join(self.columns)}")
        return cut(self.columns[column], self.lengths)

    def place(self, sentence: int, token: int) -> str:
        """Return the file and line of a token as text; without line numbers, sentence and token (from 0)."""
        if self.lines is None:
            return f"sentence {sentence}, token {token}"
        return f"{self.name}:{self.lines[int(self.lengths[:sentence].sum()) + token]}"

    def with_column(self, name: str, sentences: Sequence[Sequence[Any]]) -> ConllData:
        """Return the data with a further last column, such as predicted labels.

        Parameters
        ----------
        name : str
            Name of the new column.
        sentences : sequence of sequences
            Values of the column: for each sentence one value per token.

        Raises
        ------
        DataError
            There is a column of this name, or the numbers of values and tokens differ.
        """
        if name in self.columns:
            raise DataError(f"there is a column {name!r} already. Choose another name")
        if len(sentences) != len(self):
            found = plural(len(sentences), "sentence")
            raise DataError(f"column {name!r} has {found}, but the data have {len(self):,}")
        for s, (values, length) in enumerate(zip(sentences, self.lengths, strict=True)):
            if len(values) != length:
                told = f"there are {plural(len(values), 'value')}, but {plural(length, 'token')}"
                raise DataError(f"column {name!r}, sentence {s}: {told}")
        return replace(self, columns=self.columns | {name: list(map(str, chain.from_iterable(sentences)))})


def joined(parts: Sequence[ConllData]) -> ConllData:
    """The sentences of several files with the same columns, without line numbers."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: [value for data in parts for value in data.columns[name]] for name in parts[0].columns}
    return ConllData(columns, np.concatenate([data.lengths for data in parts]))


def read_conll(
    source: str | os.PathLike[str] | IO[Any],
    columns: Sequence[str] | None = ("w", "pos", "y"),
    separator: str | None = AUTO,
    comment: str | None = AUTO,
    encoding: str | None = None,
) -> ConllData:
    r"""Read a CoNLL column file, or texts with annotations, compressed or not.

    Blank lines, and lines that start with ``-DOCSTART-``, end a sentence. The first lines are inspected to
    detect CoNLL-U, lines such as ``# sent_id = 1`` before a sentence, and a header with names of columns.
    Skipped lines are reported by a warning.

    Annotated texts have two columns, of tokens and labels. They are detected, too: JSON or JSON lines with
    spans of characters (spaCy, Doccano, Label Studio, Prodigy), whose labels become BIO, and XML with tagged
    fields (parserator). With one column, spans are ignored, and JSON records need none.

    Parameters
    ----------
    source : path or file object
        File to read, or a binary or text file object.
    columns : sequence of str, optional
        Names of the first columns; further columns are ignored. With None, all columns are read as ``c0``,
        ``c1``, ..., and all lines must have the same number of columns. In CoNLL-U files, choose columns by
        name: id, form, lemma, upos, xpos, feats, head, deprel, deps, misc.
    separator : str or None
        Column separator, such as ``"\t"``; None is any run of ASCII whitespace. By default tabs or whitespace
        are detected from the first lines, and all lines must have the same number of columns.
    comment : str or None
        Text that starts lines to skip, such as ``"# "``; None skips no lines. By default it is detected.
    encoding : str, optional
        Encoding of a path or binary file object, such as ``"latin-1"``; by default UTF-8.

    Raises
    ------
    DataError
        A line has too few columns or bytes that do not fit the encoding (the message names the line). Or the
        file has no tokens or another format. Or it can be read in two ways, and `separator` or `comment` must
        decide. Or spans overlap, or do not fit their text.

    Warns
    -----
    SkippedLinesWarning
        Lines were skipped, or CoNLL-U was detected; or annotations were skipped or changed.
    UserWarning
        The text looks as if it had another encoding.
    """
    return next(read_conll_blocks(source, columns, separator, comment, n_lines=ALL, encoding=encoding))


def read_conll_blocks(
    source: str | os.PathLike[str] | IO[Any],
    columns: Sequence[str] | None = ("w", "pos", "y"),
    separator: str | None = AUTO,
    comment: str | None = AUTO,
    n_lines: int = 1 << 20,
    encoding: str | None = None,
) -> Iterator[ConllData]:
    """Read a column file block by block: an iterator of `ConllData`, for files that are larger than memory.

    Parameters
    ----------
    source, columns, separator, comment, encoding
        As for `read_conll`.
    n_lines : int
        Smallest number of lines (tokens of annotated texts) of a block, at least 1. A block ends at the end
        of a sentence.
    """
    if n_lines < 1:
        raise DataError(f"n_lines={n_lines}: expected at least 1")
    read = ColumnLines(source, columns, separator, comment, encoding=encoding)
    read.tell_numbers(read.columns[0] if read.columns else "id", "Name this column id with columns=")
    yield from read.blocks(min(n_lines, ALL))


def write_conll(
    target: str | os.PathLike[str] | IO[Any], data: ConllData, separator: str | None = None
) -> None:
    r"""Write a CoNLL column file in UTF-8, compressed by gzip where the path ends in ``.gz``.

    `ConllData.with_column` adds predicted labels as the last column, where evaluation scripts expect them.

    Parameters
    ----------
    target : path or file object
        File to write, or a binary or text file object.
    data : ConllData
        Columns to write.
    separator : str, optional
        Column separator: ``" "``, or ``"\t"`` if values contain spaces or are empty. By default
        `data.separator`.

    Raises
    ------
    DataError
        A value is blank or contains the separator or a line break, so that it could not be read back.
    """
    save(target, conll_text(data, separator))


def conll_text(data: ConllData, separator: str | None = None) -> str:
    """What `write_conll` writes."""
    separator = data.separator if separator is None else separator
    by_words = not separator.strip(" ")
    breaks = _BREAKS if by_words else re.compile(rf"[\r\n]|{re.escape(separator)}")
    # A line of nothing but blanks would end the sentence when it is read back.
    blank = {name: {v for v in set(values) if not v.strip(_BLANK)} for name, values in data.columns.items()}
    for name, values in data.columns.items():
        for value in set(values):
            is_empty = value in blank[name] and (by_words or all(blank.values()))
            if breaks.search(value) or is_empty or value.startswith(_DOCSTART.decode()):
                told = (
                    f"column {name!r}, token {values.index(value)}: {value!r} cannot be written. It must not"
                )
                raise DataError(f"{told} be blank or contain a line break, -DOCSTART- or {separator!r}")
    lines = list(map(separator.join, zip(*data.columns.values(), strict=True)))
    return "".join("\n".join(sentence) + "\n\n" for sentence in cut(lines, data.lengths))


def conllu_text(data: ConllData, labels: Sequence[list[str]], probabilities: Any = None) -> str:
    """CoNLL-U as it was read, with other labels in their column, and probabilities in MISC."""
    columns = data.columns | {"[label]": list(chain.from_iterable(labels))}
    if probabilities is not None:
        both = zip(columns["[misc]"], chain.from_iterable(probabilities), strict=True)
        columns["[misc]"] = [
            "|".join([*(each for each in misc.split("|") if not _REPLACED.match(each)), f"Probability={p}"])
            for misc, p in both
        ]
    lines = list(map("\t".join, zip(*columns.values(), strict=True)))
    texts, done = list[str](), 0
    for n_before, line in data.between or ():
        try:
            texts += [*lines[done:n_before], line.decode()]
        except UnicodeDecodeError:
            raise DataError(f"{data.name}: the line {line!r} is not UTF-8 text. {NAME_ENCODING}") from None
        done = n_before
    return "\n".join([*texts, ""])


class SkippedLinesWarning(UserWarning):
    """A file was read as CoNLL-U, lines of it were skipped, or token numbers restart without a blank line."""


class ColumnLines:
    """Reads the lines of a column file, once.

    `columns`, `separator` and `comment` are those of `read_conll`. `preferred` is the separator to choose if
    two are possible, and `layout` is the result of an earlier detection.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None,
        separator: str | None = AUTO,
        comment: str | None = AUTO,
        preferred: str | None = None,
        layout: Layout | None = None,
        encoding: str | None = None,
    ) -> None:
        is_text = not isinstance(source, str | os.PathLike) and isinstance(source.read(0), str)
        self.name, self._is_text = source_name(source), is_text or encoding is not None
        self.columns = names = None if columns is None else list(columns)
        if names is not None and (not names or len(set(names)) != len(names) or isinstance(columns, str)):
            raise DataError(f"columns={columns!r}: expected a list of distinct names")
        self.tells_comments = False  # which nobody asked to skip
        self.n_columns = 0  # of the last line that was read
        # of CoNLL-U: the other lines of a block, each with the number of tokens before it
        self.between = list[tuple[int, bytes]]()
        self._skipped, self._head = Counter[str](), b""
        self._pieces = line_blocks(source, _PIECE)
        if encoding is not None:
            if is_text:
                raise DataError(f"{self.name}: encoding={encoding!r} needs a path or a binary file")
            self._pieces = recoded(self._pieces, encoding, self.name)
        self._is_new = layout is None
        if layout is not None:
            self.layout = layout
            return
        first, n = list[bytes](), 0
        for text in self._pieces:
            first.append(text)
            n += len(text)
            if n >= _HEAD:
                break
        self._pieces, head = chain(first, self._pieces), b"".join(first)  # they stay to be read
        self._head = head = head if n <= _HEAD else head[: head.rfind(b"\n", 0, _HEAD) + 1] or head
        self.layout = layout_of(
            head.decode(errors="surrogateescape"), self.name, self.columns, separator, comment, preferred
        )

    def blocks(self, n_lines: int) -> Iterator[ConllData]:
        """The sentences, in blocks of at least `n_lines` lines, up to the end of a sentence."""
        separator = None
        if self.layout.annotated:
            yield from self._annotated(n_lines)
            return
        try:
            for columns, lengths, lines in self._sentences(n_lines):
                if separator is None:
                    needs_tabs = self.layout.separator == TAB and any(
                        not value or _BREAKS.search(value) for value in set(chain(*columns.values()))
                    )
                    separator = TAB if needs_tabs else self.layout.written
                yield ConllData(columns, np.array(lengths), np.array(lines), self.name, separator)
                self.between.clear()
        except DataError as error:
            raise named_by_look(error, self._head, COLUMNS) from None
        if separator is None:
            raise DataError(f"{self.name}: the file has no tokens")

    def _annotated(self, n_lines: int) -> Iterator[ConllData]:
        """The tokens and labels of annotated texts, in blocks of at least so many tokens."""
        names = self.columns or ["c0", "c1"]
        if len(names) > 2:
            told = f"{len(names)} columns are needed ({', '.join(names)})"
            raise DataError(f"{self.name} has annotated texts, with tokens and labels only, but {told}")
        look, has_labels, n_found = self.layout.annotated, len(names) > 1, 0
        for block in batches(self._examples(has_labels), lambda example: len(example[0]), n_lines, n_lines):
            tokens, labels, lines = zip(*block, strict=True)
            flat = [list(chain.from_iterable(each)) for each in (tokens, labels)]
            lengths, n_found = np.array(list(map(len, tokens))), n_found + len(block)
            columns = dict(zip(names, flat, strict=False))
            yield ConllData(columns, lengths, np.repeat(lines, lengths), self.name, self.layout.written)
        if not n_found:
            needed = f"labels. JSON needs {SPANS}" if look != "XML" and has_labels else "words"
            raise DataError(f"{self.name}: no text has {needed}")

    def _examples(self, has_labels: bool) -> Iterator[Example]:
        """The annotated texts, and a warning of what was skipped after the last."""
        look, counts = self.layout.annotated, self._skipped
        yield from read_annotated(self._pieces, self.name, look, has_labels, self._is_text, counts)
        if (told := told_of(counts)) and self._is_new:
            warn(f"{self.name}: {told}", SkippedLinesWarning)

    def _sentences(self, n_lines: int) -> Iterator[tuple[dict[str, list[str]], array[int], array[int]]]:
        """The strings of each column, the tokens of each sentence, and the line of each token."""
        layout, names, given = self.layout, self.layout.names, self.columns
        self._reads_all, self._read = given is None, list(given or ())  # those of all are not known yet
        if names and given is not None and set(given) <= set(names):
            self._read = list(names[: 1 + max(map(names.index, given))])
        elif names and given is not None and not numbers_tokens(given[0]):
            told = f"whose first column has token numbers, so its columns cannot be {', '.join(given)}"
            ways = f"Choose columns with --columns (in Python columns=), the label last: {', '.join(names)}"
            raise DataError(f"{self.name}: the file is CoNLL-U, {told}. {ways}")
        separator, comment = (
            None if mark is None else mark.encode() for mark in (layout.separator, layout.comment)
        )
        skipped, is_numbered = self._skipped, layout.numbered
        # All but lines that begin so, or with nothing, are of tokens.
        odd = {b"", b"#", b"-", b" ", b"\t", b"\v", b"\f", (comment or b"")[:1]}
        last, length, number, n_read = n_lines, 0, 0, 0  # tokens of the sentence; what numbers a token
        line_number = before = 0  # lines, and those of earlier pieces
        # All fields go into one list: a list for each line would take twice the time.
        texts, flat, lengths, lines = _Texts(), list[str](), array("q"), array("q")
        for piece in self._whole_pieces():
            for line_number, line in enumerate(piece.splitlines(), before + 1):
                is_blank = begins = False
                if is_numbered or line[:1] in odd:
                    may_be_metadata = layout.metadata and not length and line[:1] == b"#"
                    if (may_be_metadata and METADATA.match(line.decode(errors="surrogateescape"))) or (
                        comment and line.startswith(comment)
                    ):
                        skipped["comment"] += 1
                        if names:
                            self.between.append((len(lines), line))
                        continue
                    is_blank = not line.strip() or line.startswith(_DOCSTART)
                if is_numbered and not is_blank:
                    if joint := _JOINT.match(line):
                        skipped[joint[1].decode()] += 1
                        if names:
                            self.between.append((len(lines), line))
                        continue
                    # Numbers that begin again at 0 or 1 begin a sentence, even without a blank line.
                    found, previous = _FIRST_NUMBER.match(line), number
                    number = int(found[0]) if found else -1
                    begins = length > 0 and 0 <= number <= min(previous, 1)
                    skipped["joined"] += begins
                if length and (is_blank or (begins and names)):
                    if names:
                        self.between.append((len(lines), b""))
                    lengths.append(length)
                    length = 0
                    if line_number >= last:
                        yield self._columns_of(flat), lengths, lines
                        last = line_number + n_lines
                        texts, flat, lengths, lines = _Texts(), list[str](), array("q"), array("q")
                if is_blank:
                    continue
                fields = line.split(separator)
                if b'"' in line:
                    self._refuse_quotes(line, f"{self.name}:{line_number}")
                if len(fields) != self.n_columns:  # as in the first line
                    self._check_width(len(fields), f"{self.name}:{line_number}", piece)
                    n_read = len(self._read)
                if len(fields) > n_read:
                    del fields[n_read:]
                try:
                    flat += map(texts.__getitem__, fields)
                except UnicodeDecodeError as error:
                    what = f"the bytes {error.object!r} are not UTF-8 text. {NAME_ENCODING}"
                    raise DataError(f"{self.name}:{line_number}: {what}") from error
                lines.append(line_number)
                length += 1
            before = line_number
        if length:
            if names:
                self.between.append((len(lines), b""))
            lengths.append(length)
        self._tell()
        if lengths:
            yield self._columns_of(flat), lengths, lines

    def _columns_of(self, flat: list[str]) -> dict[str, list[str]]:
        """The columns that were asked for, of the fields of all tokens."""
        n, places = len(self._read), {name: k for k, name in enumerate(self._read)}
        return {name: flat[places[name] :: n] for name in self.columns or ()}

    def _whole_pieces(self) -> Iterator[bytes]:
        """Whole lines, some at a time, without a header and marks of byte order."""
        for k, piece in enumerate(self._pieces):
            if k == 0 and self.layout.header:
                piece = piece[len(re.split(rb"[\r\n]", piece, maxsplit=1)[0]) :]
            # Files that were put together have marks of byte order within.
            yield re.sub(rb"(?m)^\xef\xbb\xbf", b"", piece) if _BOM in piece else piece

    def _refuse_quotes(self, line: bytes, place: str) -> None:
        """Refuse quotes of CSV: as parts of values, they would make features of punctuation."""
        layout = self.layout
        pattern = _QUOTED.get(layout.separator or "") if layout.even or layout.separator != TAB else None
        if pattern is not None and (found := pattern.search(line)):
            told = f"{found[1].decode(errors='replace')} looks like CSV with quotes"
            raise DataError(f"{place}: {told}. Save the file with tabs and without quotes")

    def _check_width(self, n: int, place: str, piece: bytes) -> None:
        """Name all columns by the first line, if none are named; raise `DataError` for wrong lines."""
        layout = self.layout
        if not self._read:
            if n > _MOST_COLUMNS:
                told = f"there are {n:,} columns, but at most {_MOST_COLUMNS:,} are read by default"
                raise DataError(f"{place}: {told}. Name those to read with --columns (in Python columns=)")
            self._read = self.columns = [f"c{k}" for k in range(n)]
        n_wanted, n_known = len(self._read), self.n_columns or len(layout.names)
        is_wide, is_odd = n >= n_wanted and not self._reads_all, layout.even and 0 < n_known != n
        if is_odd and (layout.names or is_wide):
            known = "CoNLL-U, which was detected, has" if layout.names else "the lines before have"
            by = {None: "whitespace", TAB: "tabs"}.get(layout.separator, repr(layout.separator))
            way_out = "With --separator (separator=), lines may have different numbers of columns"
            wrong = f"{plural(n, 'column')}, but {known} {n_known}. Columns are separated by {by}. "
            wrong += way_out if is_wide else "Correct the line"
        elif is_odd or n < n_wanted or (self._reads_all and n > n_wanted):
            least, names = "" if self._reads_all else "at least ", ", ".join(self._read)
            wrong = f"{plural(n, 'column')}, but {least}{n_wanted} are needed ({names})"
        else:
            self.n_columns = n
            return
        if layout.comment is None and re.search(rb"(?:^|[\r\n])#", piece):  # if a look was had
            wrong += "; --comment '#' (in Python comment='#') skips lines that begin with #"
        raise DataError(f"{place}: the line has {wrong}")

    def _tell(self) -> None:
        """Warn of what was detected and skipped."""
        layout, skipped = self.layout, self._skipped
        names = {"-": "multiword token", ".": "empty node", "header": "header line"}
        if layout.metadata or layout.numbered or self.tells_comments:
            names = {"comment": "comment" if self.tells_comments else "metadata line"} | names
        skipped["header"] = int(layout.header)
        parts = ", ".join(plural(skipped[key], what) for key, what in names.items() if skipped[key])
        told = ["read as CoNLL-U"] * bool(layout.names) + [f"skipped {parts}"] * bool(parts)
        if skipped["joined"]:
            ends = "a sentence begins there" if layout.names else "no sentence begins there"
            where = f"without a blank line ({plural(skipped['joined'], 'time')})"
            told.append(f"token numbers restart {where}; {ends}")
        if told and self._is_new:
            warn(f"{self.name}: {'; '.join(told)}", SkippedLinesWarning)

    def tell_numbers(self, column: str, advice: str) -> None:
        """Warn if the first column has token numbers, but another name."""
        if self.layout.numbered and not self.layout.names and not numbers_tokens(column):
            warn(f"{self.name}: the first column, read as {column!r}, contains token numbers. {advice}")


class _Texts(dict[bytes, str]):
    """Each distinct field as text, in memory once."""

    def __missing__(self, field: bytes) -> str:
        text = self[field] = field.decode()
        return text


def numbers_tokens(column: str) -> bool:
    """Whether the name of a column says that it has token numbers."""
    return column.lower() in _NUMBER_NAMES


# --- as models see them -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    """Reads column files for one model: with its columns, templates and separator."""

    columns: tuple[str, ...]  # the label's is the last
    templates: tuple[str, ...]
    # of the training data: a look at other files might find others
    separator: str | None = None
    comment: str | None = None
    scheme: str | None = None  # that labels are converted from

    @classmethod
    def of_header(cls, header: Any, path: Any) -> Self:
        """The reader that is stored in the header of a model file or of a folder of shards."""
        try:
            columns = tuple(header["columns"])
            templates = tuple(map(str, parse_templates(header["templates"])))
            told = [header.get(name) for name in ("separator", "comment", "scheme")]
            if not all(isinstance(text, str | None) for text in told) or told[2] not in (None, *SCHEMES):
                raise TypeError
        except (KeyError, TypeError, AttributeError, DataError):
            way_out = "Use a model or folder that structune train, tune or shard wrote"
            raise ModelFileError(f"{path} does not contain columns and templates. {way_out}") from None
        return cls(columns, templates, *told)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input columns: all but the label's."""
        return self.columns[:-1]

    def attributes(self, data: ConllData) -> AttributeTable:
        """The attributes that the templates compute from the input columns, without the label."""
        return extract(self.templates, {name: data.columns[name] for name in self.inputs}, data.lengths)

    def labels(self, data: ConllData) -> list[list[str]]:
        """The labels of each sentence."""
        found = data.columns[self.columns[-1]]
        if "" in found:
            sentence, token = place_of(found.index(""), data.lengths)
            told = f"{data.place(sentence, token)}: the label is empty. Give each token a label"
            raise DataError(f"{told}, or choose the columns with --columns, the label last")
        labels = data.sentences(self.columns[-1])
        return labels if self.scheme is None else converted(labels, self.scheme)

    def read_labelled(self, source: Any, reading: Format) -> Iterator[ConllData]:
        """Read a file with a label column in blocks of sentences."""
        read = self._open(source, self.columns, reading)
        _places(self.columns, read)  # or an error
        return self._told(read.blocks(_n_lines(TOKEN)), read)

    def read_inputs(self, source: Any, reading: Format, token: int = TOKEN) -> Iterator[ConllData]:
        """Read a file with all its columns; `token` is the memory of a token, in bytes."""
        read = self._open(source, None, reading)
        if read.layout.annotated:
            read.columns = [self.columns[0]]  # labels may be wrong, or cut tokens
        return self._told(self._renamed(read, _n_lines(token)), read)

    def _told(self, blocks: Iterable[ConllData], read: ColumnLines) -> Iterator[ConllData]:
        """The same blocks, and warnings of empty values and columns that are not read."""
        yield from _told_empty(blocks, self.inputs)
        if not read.layout.names and read.n_columns > len(self.columns):
            told = f"The first {len(self.columns)} are read as {', '.join(self.columns)}, as in training"
            warn(f"{read.name} has {read.n_columns} columns. {told}; the others are ignored")

    def _renamed(self, read: ColumnLines, n_lines: int) -> Iterator[ConllData]:
        names = self.inputs
        for data in read.blocks(n_lines):
            found = list(data.columns.values())
            if len(found) < len(names):
                needed = f"the model needs at least {len(names)} ({', '.join(names)})"
                raise DataError(f"{read.name} has {plural(len(found), 'column')}, but {needed}")
            called = dict(zip(_places(names, read), names, strict=True))
            between, known, label = None, read.layout.names, self.columns[-1]
            if {label, "misc"} <= set(known[1:]) - set(names):
                between = tuple(read.between)
                called |= {known.index(label): "[label]", known.index("misc"): "[misc]"}
            renamed = {called.get(k, f"[{k}]"): values for k, values in enumerate(found)}
            yield replace(data, columns=renamed, between=between)

    def _open(self, source: Any, columns: Sequence[str] | None, reading: Format) -> ColumnLines:
        comment = self.comment if reading.comment is None else reading.comment
        by, mark = (AUTO if each is None else each for each in (reading.separator, comment))
        read = ColumnLines(source, columns, by, mark, self.separator, encoding=reading.encoding)
        read.tells_comments = reading.comment is None and bool(comment)
        read.tell_numbers(self.columns[0], f"The model expects the columns {', '.join(self.columns)}")
        return read

    def header(self) -> dict[str, Any]:
        """What is stored in the model file."""
        found = {"columns": list(self.columns), "templates": list(self.templates)}
        told = {"separator": self.separator, "comment": self.comment, "scheme": self.scheme}
        return found | {name: value for name, value in told.items() if value is not None}


def read_training(
    paths: Sequence[Any], learning: Learning, n_lines: int = ALL
) -> tuple[Reader, Iterator[ConllData], Callable[[], Iterator[ConllData]]]:
    """A reader, and the blocks of sentences of all files; and these once more, without warnings."""
    reader, blocks, layout = _open_training(paths[0], learning, n_lines)
    layouts = [layout]

    def all_blocks() -> Iterator[ConllData]:
        yield from blocks
        for path in paths[1:]:
            other, more, layout = _open_training(path, replace(learning, templates=None), n_lines)
            layouts.append(layout)
            if other.columns != reader.columns:
                told = f"{path} has the columns {', '.join(other.columns)}, but {paths[0]} has "
                raise DataError(f"{told}{', '.join(reader.columns)}. Choose those to read with --columns")
            yield from more

    def again() -> Iterator[ConllData]:
        for path, layout in zip(paths, layouts, strict=True):
            read = ColumnLines(path, reader.columns, layout=layout, encoding=learning.encoding)
            yield from read.blocks(n_lines)

    # The scheme of the labels is known once all have been read.
    pairs, kept = defaultdict[str, Pairs](set), list[ConllData]()
    for data in all_blocks():
        pairs[data.name] |= pairs_of(reader.labels(data))
        if n_lines == ALL:
            kept.append(data)
    if scheme := common_scheme(pairs):
        reader = replace(reader, scheme=scheme)
    if len(labels := {label for each in pairs.values() for label, _ in each} - {None}) == 1:
        way_out = "" if layout.annotated else ". Choose the columns with --columns, the label last"
        warn(f"all labels are {labels.pop()!r}: nothing can be learned{way_out}")
    return reader, iter(kept) if n_lines == ALL else again(), again


def _open_training(path: Any, learning: Learning, n_lines: int) -> tuple[Reader, Iterator[ConllData], Layout]:
    """A reader for a file, its sentences block by block, and how they are laid out."""
    given = None if learning.columns is None else [name.strip() for name in learning.columns.split(",")]
    by, mark = (AUTO if each is None else each for each in (learning.separator, learning.comment))
    read = ColumnLines(path, given, by, mark, encoding=learning.encoding)
    # CoNLL-U has ten columns of which a tagger needs two: words, and the universal parts of speech.
    if given is None and read.layout.names:
        label = "upos" if "upos" in read.layout.names else read.layout.names[-1]
        read.columns = ["form", label] if "form" in read.layout.names else None
        if read.columns is not None:
            told = f"reading the columns form and {label}"
            warn(f"{path}: {told}. Choose others with --columns, the label last")
    read.tell_numbers(read.columns[0] if read.columns else "w", "Name this column id with --columns")
    blocks = read.blocks(n_lines)
    first = next(blocks)
    n = len(first.columns)
    names = read.columns if given is not None or read.layout.names else None
    names = names or [*("w", "pos", *(f"c{k}" for k in range(2, n)))[: n - 1], "y"]
    if len(names) < 2:
        raise DataError(f"{path}: there is {len(names)} column, but at least 2 are needed, the label last")
    inputs = dict(zip(names[:-1], first.columns.values(), strict=False))  # the label is left out
    templates = given_templates(learning.templates or "", list(inputs)) or default_templates(inputs)
    # A later file may have no value with a space, by which a look would tell tabs: the model keeps them.
    is_open = not (read.layout.names or read.layout.annotated)
    kept = TAB if first.separator == TAB and is_open else read.layout.kept
    reader = Reader(tuple(names), tuple(map(str, templates)), kept, learning.comment)
    named = (
        replace(data, columns=dict(zip(names, data.columns.values(), strict=True)))
        for data in chain([first], blocks)
    )
    return reader, _told_empty(named, reader.inputs), read.layout


def _n_lines(token: int) -> int:
    """How many tokens, of so many bytes each, are worked on at once."""
    return max(1, batch_memory() // token)


def _told_empty(blocks: Iterable[ConllData], names: Sequence[str]) -> Iterator[ConllData]:
    """The same blocks, and a warning of empty values after them."""
    counts, name = Counter[str](), ""
    for data in blocks:
        name = data.name
        counts.update({column: data.columns[column].count("") for column in names})
        yield data
    if found := [f"{n:,} in the column {column}" for column, n in counts.items() if n]:
        warn(f"{name}: empty values are used as features: {', '.join(found)}")


def _places(inputs: Sequence[str], read: ColumnLines) -> list[int]:
    """Indices of the model's input columns in a file."""
    names = read.layout.names
    if names and set(inputs) <= set(names):
        return [names.index(name) for name in inputs]
    if not names or numbers_tokens(inputs[0]):
        return list(range(len(inputs)))
    if len(inputs) > 1 or "form" not in names:
        told = f"{read.name} is CoNLL-U, but the model needs the columns {', '.join(inputs)}"
        raise DataError(f"{told}, not {', '.join(names)}. Make a file with the model's columns")
    return [names.index("form")]


def given_templates(text: str, columns: Sequence[str]) -> list[Template]:
    """Templates from a text or the file of that name; none for no text."""
    try:
        templates = parse_templates(text)
    except DataError as error:
        if os.path.isfile(text):
            return read_templates(text, columns)
        raise DataError(f"{error}. And there is no file of templates with this name") from None
    if os.path.isfile(text):
        raise DataError(f"{text!r} is a template and a file. Rename the file")
    return templates


def default_templates(inputs: Mapping[str, Sequence[str]]) -> list[Template]:
    """Templates for symbols if the first column, as far as read, has only single letters; else for text."""
    word, *tags = inputs
    letters = all(len(value) <= 1 for value in set(inputs[word]))
    return symbol_templates(word, tags) if letters else text_templates(word, tags)
