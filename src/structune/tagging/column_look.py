"""What the first lines of a column file tell: what separates columns, and which lines are no tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from structune.errors import DataError
from structune.files.looks_like import HEAD, looks_like

AUTO = "auto"  # have a look
TAB = "\t"
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_SEPARATORS = {"tab": TAB, r"\t": TAB, "whitespace": None}
_OPTIONS = "Give --separator tab or --separator whitespace (in Python separator='\\t' or None)"
_LINE, _WORD = re.compile(r"\r\n|\r|\n"), re.compile(r"[^ \t\v\f]+")
_B, _KEY = r"[ \t\v\f]", r"[^ \t\v\f=]+"
_METADATA = re.compile(  # the kernel `is_metadata` says the same
    rf"#{_B}*(?:(?:newdoc|newpar)(?:{_B}|$)|{_KEY}{_B}+=)|#{_B}+{_KEY}=(?:{_B}|$)"
    rf"|#{_B}*id{_B}+[^ \t\v\f]+{_B}+{_KEY}=[^ \t\v\f]+{_B}*$"
)
_ID = re.compile(r"(\d+)(?:([-.])\d+)?")
_HEADER = {
    *("word", "words", "token", "tokens", "form", "text", "lemma", "pos", "upos", "xpos", "tag", "tags"),
    *("label", "labels", "ner", "iob", "bio", "chunk", "entity", "id", "sentence", "sentence_id", "sent_id"),
}
_ATTRIBUTE = re.compile(r"[^=]+=.*|.*[^\\]:[-+]?[\d.]+(?:[eE][-+]?\d+)?|__[BE]OS__")
_OWN = (  # formats of taggers that are no columns, by their first lines
    (r"\A# sentence \d+ rank \d+ probability ", "the output of structune predict --nbest"),
    (r"\A# \d+ \d\.\d+\s*$", "the n-best output of CRF++"),
    (r"\A@(?:probability|score)\t", "the output of crfsuite tag"),
    (r"\A#mdl#\d+#", "a model of Wapiti"),
    (r"\Aversion: \d+\ncost-factor:", "a model of CRF++"),
    (r"\A#begin document ", "CoNLL-2012"),
    (r"\A#FORMAT=WebAnno", "WebAnno TSV"),
    (r"\A\d+\|[ta]\|", "PubTator"),
)
_FOREIGN = (  # names of `looks_like` that no column file has
    *("PDF", "a gzip file", "a zip file", "a bzip2 file", "an xz file", "a Zstandard file", "UTF-16 text"),
    *("Stockholm", "NEXUS", "VCF", "GFF3", "GFF2", "GTF", "AUGUSTUS hints", "GenBank"),
    *("a feature template of CRF++", "a pattern file of Wapiti", "brat", "LETOR", "SVMlight"),
    *("SJ.out.tab of STAR", "a table of RepeatMasker at UCSC", "a table of RepeatMasker (.out)"),
    "binary data",
)
_OF_HEADERS = (
    "FASTA",
    "aligned FASTA",
    "A2M",
    "A3M",
    "PIR",
    "dot-bracket",
    "RNAfold -p output",
    "RNAsubopt output",
)
_RESIDUES = re.compile(r"[A-Za-z*.-]+")
_MOST_WORDS = 3  # of a row of columns whose values may all have a slash or a bar
_LEAST_COLUMNS = 5  # of an alignment in PHYLIP: less may be the label of a number
COLUMNS = (
    "CoNLL",
    "CoNLL-U",
    "tab-separated columns",
    "columns of words",
    "GFF2",
)  # which column files look like


@dataclass(frozen=True)
class Layout:
    """How the lines of a column file are read.

    Attributes
    ----------
    separator : str or None
        None is white space.
    comment : str or None
        What begins lines that are skipped.
    metadata : bool
        Whether ``# key = value`` before a sentence is skipped, too.
    names : tuple of str
        Of all columns, if the format gives them.
    numbered : bool
        The first column numbers tokens; lines such as ``2-3`` and ``4.1`` are skipped.
    counted : bool
        The first column numbers tokens, in a format that is not known.
    header : bool
        The first line has names of columns, and is skipped.
    even : bool
        Whether the rows of a sentence must have as many columns.
    kept : str or None
        The separator, if another look might find another.
    """

    separator: str | None = None
    comment: str | None = None
    metadata: bool = False
    names: tuple[str, ...] = ()
    numbered: bool = False
    counted: bool = False
    header: bool = False
    even: bool = False
    kept: str | None = None

    @property
    def written(self) -> str:
        """What separates columns that are written; spaces, unless tabs may be needed."""
        if self.names and self.separator is not None:
            return self.separator
        return " " if self.kept in (None, "whitespace") else self.kept


def layout_of(
    head: str,
    name: str,
    columns: Sequence[str] | None = None,
    separator: str | None = AUTO,
    comment: str | None = AUTO,
    preferred: str | None = None,
) -> Layout:
    """How a file is read, by its first lines.

    Parameters
    ----------
    head : str
        Whole lines.
    name : str
        Of the file, for errors.
    columns : sequence of str, optional
        The first columns, where they have been named.
    separator, comment : str or None
        As given by the user.
    preferred : str, optional
        The separator of the training data, where a look finds two.

    Raises
    ------
    DataError
        Another format, or two readings.
    """
    if separator == AUTO and preferred not in (None, TAB, "whitespace"):
        separator = preferred
    is_open, metadata = separator == AUTO, comment == AUTO
    for what, value in (("separator", separator), ("comment", comment)):
        if value is not None and (not isinstance(value, str) or (what == "separator" and not value)):
            raise DataError(f"{what}={value!r}: expected characters (--separator: or tab, or whitespace)")
    given = None if is_open or separator is None else _SEPARATORS.get(separator, separator)
    mark = None if metadata else comment or None
    lines = [line for line in _LINE.split(head) if mark is None or not line.startswith(mark)]
    if is_open and (found := _foreign(lines)):
        raise DataError(
            f"{name}: found what looks like {found}, expected a token and its columns a line. If these are "
            "columns, give --separator tab or --separator whitespace (in Python separator='\\t' or None)"
        )
    conllu = _conllu(lines, (TAB, None) if is_open else (given,))
    if conllu is not None:
        return conllu if metadata else replace(conllu, comment=mark)
    layout = Layout(given, mark, metadata, kept=None if is_open else _kept(given))
    rows, firsts = _rows(lines, metadata)
    if is_open:
        chosen, kept = _separator(rows, name, None if columns is None else len(columns), preferred)
        layout = replace(layout, separator=chosen, kept=kept, even=True)
    split = [_split(row, layout.separator) for row in rows]
    if metadata:
        _check_comments(split, firsts, name)
    return replace(
        layout,
        counted=len(split) > 1 and min(map(len, split)) > 2 and _are_numbers(lines, layout.separator),
        header=_is_header(split) and head.startswith(rows[0]),
    )


def _kept(separator: str | None) -> str:
    return "whitespace" if separator is None else separator


def _split(line: str, separator: str | None) -> list[str]:
    return _WORD.findall(line) if separator is None else line.split(separator)


def _is_blank(line: str) -> bool:
    return not line.strip(" \t\v\f") or line.startswith("-DOCSTART-")


def _rows(lines: Sequence[str], metadata: bool) -> tuple[list[str], list[bool]]:
    """The lines of tokens, and whether each is the first of a sentence."""
    rows, firsts, is_first = list[str](), list[bool](), True
    for line in lines:
        if _is_blank(line):
            is_first = True
        elif not (metadata and is_first and _METADATA.match(line)):
            rows.append(line)
            firsts.append(is_first)
            is_first = False
    return rows, firsts


# --- formats ------------------------------------------------------------------------------------------------


def _conllu(lines: Sequence[str], separators: Sequence[str | None]) -> Layout | None:
    """CoNLL-U, of ten columns or with those that its first line names; None if it is not."""
    names: tuple[str, ...] = CONLLU
    if lines and lines[0].startswith("# global.columns ="):
        names = tuple(name.lower() for name in lines[0].partition("=")[2].split())
    rows = [line for line in lines if not _is_blank(line) and not line.startswith("#")]
    for by in separators:
        fits = bool(rows) and names[0] == "id" and all(len(_split(row, by)) == len(names) for row in rows)
        if fits and _are_numbers(lines, by):
            return Layout(by, "#", names=names, numbered=True)
    return None


def _are_numbers(lines: Sequence[str], separator: str | None) -> bool:
    """Whether the first column counts the tokens of each sentence from 1."""
    last = 0
    for line in lines:
        if _is_blank(line):
            last = 0
        elif not line.startswith("#"):
            match = _ID.fullmatch(_split(line, separator)[0])
            if match is None or (not match[2] and int(match[1]) != last + 1):
                return False
            last = last if match[2] else last + 1
    return True


def _foreign(lines: Sequence[str]) -> str | None:
    """What a text is that has no columns."""
    text = "\n".join(lines).lstrip("\n")
    for pattern, name in _OWN:
        if re.search(pattern, text, re.MULTILINE):
            return name
    rows = [line for line in lines if not _is_blank(line)]
    words = [_WORD.findall(row) for row in rows]
    found, is_even = looks_like(text[:HEAD]), len(set(map(len, words))) == 1
    if found in _FOREIGN and _is_no_token_file(found, text, words):
        return found
    if found in ("XML", "HTML") and re.search(r"\A<[?!]|\A<[^\s>]+ [^>]*=|\A<html>\s*<", text):
        return found
    if found in ("XML", "HTML") and not is_even and re.search(r"</[\w:.-]+>", text):
        return found
    if found in ("JSON", "JSONL") and re.search(r'":|\A\[\s*"', text):
        return found
    if found is not None and _has_sequences(found, rows, words):
        return found
    if found == "reactivities" and [row[0] for row in words] == [str(k + 1) for k in range(len(rows))]:
        missing = any("-999" in row for row in words)
        if missing or (len(words[0]) == 2 and len(rows) >= _LEAST_COLUMNS):
            return found
    if _are_attributes([row.split(TAB) for row in rows]):
        return "the attributes of CRFsuite"
    if inline := _inline_tags(words):
        return inline
    numbers = all(re.fullmatch(r"[\d.,;]+", row) for row in rows)
    if (
        found == "CSV"
        and len(rows) > 1
        and not numbers
        and (all(len(row) == 1 for row in words) or _is_csv_header(rows[0]))
    ):
        mark = max(",;", key=rows[0].count)
        return f"CSV (give --separator '{mark}', or save it with tabs)"
    return None


def _is_no_token_file(found: str, text: str, words: Sequence[Sequence[str]]) -> bool:
    """Whether more than the first line says so, of formats whose beginnings may be tokens."""
    if found == "binary data":
        return bool(re.search("[\0\udc80-\udcff]", text))
    if found in ("LETOR", "SVMlight"):
        return all(":" in word or word.startswith("#") for row in words for word in row[1:2])
    return True


def _has_sequences(found: str, rows: Sequence[str], words: Sequence[Sequence[str]]) -> bool:
    """Whether a look was right that found sequences, alignments or a tree: tokens may look so, too."""
    if found in _OF_HEADERS:
        is_fasta = found in ("FASTA", "aligned FASTA", "A2M", "A3M")
        letters = (len(row) == 1 and _RESIDUES.fullmatch(row[0]) for row in words if row[0][0] != ">")
        return words[0][0][0] == ">" and len(words[0][0]) > 1 and (not is_fasta or all(letters))
    if found == "Newick":
        return bool(re.fullmatch(r"\(.*,.*\).*;", rows[0]))
    if found == "FASTQ":
        return len(rows) > 3 and len(words[0][0]) > 1 and len(rows[1]) == len(rows[3]) and rows[2][0] == "+"
    if found == "PHYLIP":
        n_rows, n_columns = int(words[0][0]), int(words[0][1])
        return len(rows) > n_rows > 0 and len("".join(words[1][1:])) == n_columns >= _LEAST_COLUMNS
    return False


def _are_attributes(rows: Sequence[Sequence[str]]) -> bool:
    """Whether labels and attributes stand in a row, which may have as many of these as it likes."""
    matches = [sum(_ATTRIBUTE.fullmatch(field) is not None for field in row[1:]) for row in rows]
    if len(rows) < 2 or not all(matches):
        return False
    n_fields, n_rows = sum(map(len, rows)) - len(rows), len(rows)
    if sum(matches) == n_fields and (len(set(map(len, rows))) > 1 or any("[" in row[1] for row in rows)):
        return 2 * sum(len(row) > 2 for row in rows) >= n_rows
    return 2 * sum(matches) >= n_fields and len(set(map(len, rows))) > 1


def _inline_tags(words: Sequence[Sequence[str]]) -> str | None:
    """What tokens are that have their tags with them, such as ``dog|NN`` or ``dog/NN``."""
    flat, is_one_column = [word for row in words for word in row], all(len(row) == 1 for row in words)
    for mark, what in (("|", "tokens with | between their columns"), ("/", "tokens with a tag after /")):
        if (mark == "/" and is_one_column) or len(flat) < 2:
            continue
        n_words = set(map(len, words))
        inner = {word.strip(mark).count(mark) for word in flat}
        are_columns = inner == {1} and len(n_words) == 1 and 1 < max(n_words) <= _MOST_WORDS
        if len(inner) == 1 and inner != {0} and not are_columns:
            return f"{what} (give --separator '{mark}')" if is_one_column else what
    return None


def _is_csv_header(line: str) -> bool:
    return _is_header([re.split("[,;]", line), []])


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has names of columns: known ones, the last of which is no label elsewhere."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    names = [name.strip().strip("#\"'").strip().lower().replace(" ", "_") for name in rows[0]]
    return set(names) <= _HEADER and all(row[-1:] != rows[0][-1:] for row in rows[1:])


def _check_comments(rows: Sequence[Sequence[str]], firsts: Sequence[bool], name: str) -> None:
    """Refuse a line of ``#`` before a sentence that may be a token, and reads like words."""
    others = {row[-1] for row in rows if row[0] != "#"}
    for row, is_first in zip(rows, firsts, strict=True):
        if (
            is_first
            and row[0] == "#"
            and len(row) > 2
            and row[-1] not in others
            and all(map(_is_plain, row[1:]))
        ):
            line = " ".join(row)
            raise DataError(
                f"{name}: found {line!r}, which may be a token or a comment. Give --comment '#' if it is a "
                "comment, and --comment '' if there are none (in Python comment='#' or None)"
            )


def _is_plain(word: str) -> bool:
    return bool(re.fullmatch(r"[A-Z]?[a-z]{2,}[.:,]?|a", word))


# --- separators ---------------------------------------------------------------------------------------------


def _separator(
    rows: Sequence[str], name: str, n: int | None, preferred: str | None
) -> tuple[str | None, str | None]:
    """What separates columns, and the same if another look might find another.

    `n` columns have been named, or none.
    """
    tabs, words = [row.split(TAB) for row in rows], [_WORD.findall(row) for row in rows]
    n_tabs, n_words = {len(row) for row in tabs}, {len(row) for row in words}
    if n_tabs == {1}:
        if preferred != TAB or n_words == {1}:
            return (TAB, TAB) if preferred == TAB else (None, None)
        if len(n_words) > 1:
            return TAB, TAB
        raise DataError(
            f"{name}: found no tabs, as the training data have, and {min(n_words)} words in each line: these "
            f"may be columns, or one token. {_OPTIONS}"
        )
    if all(t[:n] == w[:n] for t, w in zip(tabs, words, strict=True)):
        return TAB, None
    if all(_unpadded(t)[:n] == w[:n] for t, w in zip(tabs, words, strict=True)):
        return None, "whitespace"
    by_tabs, by_words = len(n_tabs) == 1, len(n_words) == 1
    if by_tabs == by_words and preferred is not None:
        by_tabs, by_words = preferred == TAB, preferred != TAB
    if by_tabs == by_words and n is not None:
        by_tabs, by_words = n_tabs == {n}, n_words == {n}
        if by_tabs == by_words:
            by_tabs, by_words = min(n_tabs) >= n, min(n_words) >= n
    if by_words and not by_tabs:
        return None, "whitespace"
    if by_tabs and not by_words:
        _check_padding(tabs, name)
        return TAB, TAB
    if len(n_tabs) > 1 and len(n_words) > 1 and n is None:
        return None, "whitespace"  # the line with other columns will be named
    raise DataError(
        f"{name}: found {_counts(n_tabs)} columns between tabs and {_counts(n_words)} between white space. "
        f"{_OPTIONS}"
    )


def _counts(numbers: set[int]) -> str:
    return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"


def _unpadded(fields: Sequence[str]) -> list[str]:
    """Fields without the blanks around them, and without empty ones at the end."""
    found = [field.strip(" \v\f") for field in fields]
    while found and not found[-1]:
        found.pop()
    return found


def _check_padding(rows: Sequence[Sequence[str]], name: str) -> None:
    for row in rows:
        for field in row:
            if field.strip(" ") not in ("", field):
                raise DataError(
                    f"{name}: found {field!r} between tabs, with a space at its end or beginning. Remove it, "
                    f"or let it belong to the value. {_OPTIONS}"
                )
