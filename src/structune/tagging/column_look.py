"""Format detection from the first lines: how to read a column file, or that it has another format."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from structune.errors import DataError, warn
from structune.files.looks_like import HEAD, looks_like
from structune.tagging.annotated import ANNOTATED, OPTIONS

AUTO = "auto"  # have a look
TAB = "\t"
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_SEPARATORS = {"tab": TAB, r"\t": TAB, "whitespace": None}
_LINE = re.compile(r"\r\n|\r|\n")
_B, _KEY = r"[ \t\v\f]", r"[^ \t\v\f=]+"
METADATA = re.compile(  # lines such as # key = value, # newdoc and # id 12 domain=en
    rf"#{_B}*(?:(?:newdoc|newpar)(?:{_B}|$)|{_KEY}{_B}+=)|#{_B}+{_KEY}=(?:{_B}|$)"
    rf"|#{_B}*id{_B}+[^ \t\v\f]+{_B}+{_KEY}=[^ \t\v\f]+{_B}*$"
)
_ID = re.compile(r"([0-9]{1,9})(?:([-.])[0-9]+)?")
_HEAD, _NUMBER = re.compile(r"-?\d+|_"), re.compile(r"[-+\d.]+")
_OF_COMMENT = re.compile(  # words of comments such as "# sentence 1", "#doc-2" and "# chapter one"
    r"[A-Z]?[a-z]{2,}[.:,]?|a|(?:[A-Z][a-z]+)?[a-z_.:#-]*\d[\w.:#-]*"
)
_SENTENCE_COLUMN = re.compile(  # names of columns that tell sentences apart
    r"(?:sentence|sent|doc|document)s?[ _-]?(?:#|id|idx|index|no|nr|num|number)(?!\w)", re.I
)
_COMMENT = re.compile(r"#+(?:(?:s|sent|sentence|doc|document|par|paragraph|line|text|id)[\d_:.#-]*)?", re.I)
COLUMNS = ("CoNLL", "CoNLL-U", "tab-separated columns", "columns of words")  # which column files look like
_BLANKS = " \t\v\f"
_WORD = re.compile(rf"[^{_BLANKS}]+")
_ATTRIBUTE = re.compile(r"[^=]+=.*|.*[^\\]:[-+]?[\d.]+(?:[eE][-+]?\d+)?|__[BE]OS__")
COUNT = re.compile(r"[0-9]{1,9}")
_TAG = re.compile(r"[A-Z][A-Z\d$-]*|[^\w\s]+")
_RESIDUES = re.compile(r"[A-Za-z*.-]+")
_NEWICK = re.compile(r"\((?=[^;]*[(:])[^;]*,[^;]*\)[^;]*;(?:\(|\Z)")
_SENTENCE = re.compile(r"[\"'(]?(\w).*\w *[.!?\u3002\uff01\uff1f][\"')]?")
_MOST_WORDS = 3  # of a row of columns whose values may all have a slash or a bar
_LEAST_COLUMNS = 5  # of an alignment in PHYLIP: less may be the label of a number
_TEXT = "plain text"
_LEAST_TAGGED = 5  # tokens, one a line
_LEAST_IN_TEXT, _MOST_IN_TEXT = 5, 200  # words in each of a few lines without a blank one
_LEAST_WORDS, _LEAST_LINES = 3, 3  # of a text: words in a line, lines
_NAMES = {  # of columns, as their headers begin
    *("word", "token", "form", "text", "lemma", "id", "sentence", "sent", "pos", "upos", "xpos", "tag"),
    *("label", "ner", "ne", "iob", "bio", "chunk", "entity", "feats", "head", "deprel", "deps", "misc"),
}


@dataclass(frozen=True)
class Layout:
    """How the lines of a column file are read."""

    separator: str | None = None  # None is white space
    comment: str | None = None  # what begins lines that are skipped
    metadata: bool = False  # whether "# key = value" before a sentence is skipped, too
    names: tuple[str, ...] = ()  # of all columns, if the format gives them
    numbered: bool = False  # the first column numbers tokens; lines such as 2-3 and 4.1 are skipped
    header: bool = False  # the first line has names of columns, and is skipped
    even: bool = False  # whether all rows must have the same number of columns
    kept: str | None = None  # the separator, if another look might find another
    annotated: str = ""  # the format of texts that are no columns, but have annotations

    @property
    def written(self) -> str:
        """Column separator for writing: a space, unless tabs may be needed."""
        if self.annotated:
            return TAB  # labels may have spaces
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
    """Detect how a file is read; `DataError` for other formats, and if there are two ways.

    `columns` are the names of the first columns, if given. `preferred` is the separator of the training data,
    for files that could have two.
    """
    if separator == AUTO and preferred not in (None, TAB, "whitespace"):
        separator = preferred
    for what, value in (("separator", separator), ("comment", comment)):
        if value is not None and (not isinstance(value, str) or (what == "separator" and not value)):
            raise DataError(f"{what}={value!r}: expected text (for --separator also tab or whitespace)")
    is_open, metadata = separator == AUTO, comment == AUTO
    given = None if is_open or separator is None else _SEPARATORS.get(separator, separator)
    mark = None if metadata else comment or None
    lines = [line for line in _LINE.split(head) if mark is None or not line.startswith(mark)]
    if is_open and (found := foreign(lines)):
        if found in ANNOTATED:
            return Layout(annotated=found)
        told = f"{name} looks like {found}, not like a column file with one token per line"
        way_out = "Give it with --templates" if "CRF++" in found or "Wapiti" in found else ""
        raise DataError(f"{told}. {way_out or f'If it has columns, use {OPTIONS}'}")
    separators = (TAB, None) if is_open else (given,)
    rows, firsts = _rows(lines, metadata)
    splits = [[words_of(row, by) for row in rows] for by in separators]
    # A single name, which may be a token, needs a look.
    header = (len(rows) > 1 and head.startswith(rows[0])) and any(
        (is_header(found) or found[0] == list(columns or ())) and (is_open or len(found[0]) > 1)
        for found in splits
    )
    if is_open and len(rows) > 1 and not any(firsts[1:]):
        _check_sentence_column(rows, header, name)
    if header:
        lines, rows, firsts = lines[lines.index(rows[0]) + 1 :], rows[1:], firsts[1:]
    elif rows and not re.match(r"[#\d]", rows[0]) and any(map(_may_be_header, splits)):
        place = f"{name}:{_LINE.split(head).index(rows[0]) + 1}"
        told = f"{rows[0]!r} looks like names of columns, but is read as a token. Remove the line"
        warn(f"{place}: {told}, or use names such as word, pos and label")
    kept = None if is_open else given or "whitespace"
    layout = Layout(given, mark, metadata, header=header, even=is_open, kept=kept)
    # A first column of numbers tells CoNLL-U, and files like it, from those whose tokens are numbers.
    if numbered := _numbered(lines, separators):
        by, names = numbered
        mark = "#" if metadata else mark
        layout = replace(layout, separator=by, comment=mark, metadata=False, numbered=True)
        if names:
            return replace(layout, names=names, kept=None)
        rows = [row for row in rows if not (metadata and row.startswith("#"))]
    if is_open:
        chosen, kept = _separator(rows, name, None if columns is None else len(columns), preferred)
        layout = replace(layout, separator=chosen, kept=kept)
        sizes = {len(words_of(row)) for row in rows} if chosen is None and not any(firsts[1:]) else set[int]()
        if len(sizes) == 1 and max(_LEAST_IN_TEXT, len(rows) + 1) <= min(sizes) < _MOST_IN_TEXT:
            raise DataError(
                f"{name} looks like one text per line: all have {min(sizes)} words, and none is blank. "
                f"Write one token per line, and a blank line after each text. For columns use {OPTIONS}"
            )
    if layout.metadata:
        _check_comments([words_of(row, layout.separator) for row in rows], firsts, name)
    return layout


def _rows(lines: Sequence[str], metadata: bool) -> tuple[list[str], list[bool]]:
    """The lines with tokens, and whether each is the first of a sentence."""
    rows, firsts, is_first = list[str](), list[bool](), True
    for line in lines:
        if is_blank(line):
            is_first = True
        elif not (metadata and is_first and METADATA.match(line)):
            rows.append(line)
            firsts.append(is_first)
            is_first = False
    return rows, firsts


def _check_sentence_column(rows: Sequence[str], header: bool, name: str) -> None:
    """Refuse files without blank lines in which a column has sentence numbers."""
    for by in (TAB, None):
        split = [words_of(row, by) for row in rows]
        if min(map(len, split)) < 3:
            continue
        found = next((repr(field) for field in split[0] if _SENTENCE_COLUMN.match(field)), None)
        numbers = [row[0] for row in split[header:]]
        if all(map(COUNT.fullmatch, numbers)):
            steps = {int(later) - int(before) for before, later in pairwise(numbers)}
            if steps == {0, 1} and numbers[0] in ("0", "1") and len(set(numbers)) > 2:
                found = found or "with sentence numbers"
        if found is not None:
            told = f"{name}: there is a column {found}, but no blank line. Put one after each sentence"
            raise DataError(f"{told}, and remove the column. Use {OPTIONS} to read it as a feature")


def _numbered(
    lines: Sequence[str], separators: Sequence[str | None]
) -> tuple[str | None, tuple[str, ...]] | None:
    """If the first column has token numbers: the separator, and the names of all columns of CoNLL-U."""
    names: tuple[str, ...] = CONLLU
    if lines and lines[0].startswith("# global.columns ="):
        names = tuple(name.lower() for name in lines[0].partition("=")[2].split())
    rows = [line for line in lines if not is_blank(line) and not line.startswith("#")]
    for by in separators if rows else ():
        split = [words_of(row, by) for row in rows]
        are_numbers = _are_numbers(split)
        # Half of the rows are enough: a few broken ones are to be named by their line, not hide the format.
        if 2 * sum(_is_conllu(row, names, are_numbers) for row in split) >= len(split):
            return by, names
        if are_numbers:
            return by, ()
    return None


def _is_conllu(row: Sequence[str], names: Sequence[str], are_numbers: bool) -> bool:
    """Whether a row has an ID, a HEAD and a DEPREL where CoNLL-U has these, and IDs count or values lack."""
    if names[0] != "id" or len(row) != len(names) or not _ID.fullmatch(row[0]):
        return False
    if names != CONLLU:
        return True
    is_known = _HEAD.fullmatch(row[6]) and not _NUMBER.fullmatch(row[7])
    return bool(is_known) and (are_numbers or "_" in row)


def _are_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first column numbers tokens: most numbers are the one before and 1, or begin anew."""
    matches = [_ID.fullmatch(row[0]) for row in rows]
    if min(map(len, rows)) < 2 or not all(matches):
        return False
    numbers = [int(match[1]) for match in matches if match is not None and not match[2]]
    steps = [later - before for before, later in pairwise(numbers)]
    n_steps = steps.count(1)
    n_anew = sum(step < 0 and to < 2 for step, to in zip(steps, numbers[1:], strict=True))
    if min(map(len, rows)) == 2:  # numbers with a label, unless they count without a gap, and words are many
        return 1 < n_steps == len(steps) - n_anew and 2 * len({row[1] for row in rows}) > len(rows)
    is_sure = max(numbers, default=0) > 1 and n_steps > (numbers[0] > 1)
    return is_sure and 2 * n_steps >= len(steps) - n_anew


def _check_comments(rows: Sequence[Sequence[str]], firsts: Sequence[bool], name: str) -> None:
    """Refuse a first line of a sentence that begins with ``#`` and may be a token or a comment."""
    others = {row[-1] for row in rows if row[0][:1] != "#"}
    for row, is_first in zip(rows, firsts, strict=True):
        # Suspicious is a "#" at the head of a sentence whose last column is a label of no other row.
        is_odd = is_first and row[-1] not in others and _COMMENT.fullmatch(row[0])
        is_long = len(row) > 2 or any(map(str.isdigit, row[-1]))  # "# sym" may well have a label
        if is_odd and is_long and len(row) > 1 and all(map(_OF_COMMENT.fullmatch, row[1:])):
            told = f"{name}: the line {' '.join(row)!r} may be a token or a comment"
            ways = "--comment '#' if it is a comment, and --comment '' if there are no comments"
            raise DataError(f"{told}. Use {ways} (in Python comment='#' or None)")


# --- separators ---------------------------------------------------------------------------------------------


def _separator(
    rows: Sequence[str], name: str, n: int | None, preferred: str | None
) -> tuple[str | None, str | None]:
    """The separator, and the same again if detection could find another in other files.

    `n` is the number of named columns, or None.
    """
    tabs, words = [row.split(TAB) for row in rows], [words_of(row) for row in rows]
    n_tabs, n_words = {len(row) for row in tabs}, {len(row) for row in words}
    if n_tabs == {1}:
        if preferred != TAB or n_words == {1}:
            return (TAB, TAB) if preferred == TAB else (None, None)
        if len(n_words) > 1:
            return TAB, TAB
        told = f"The {min(n_words)} words of each line may be columns or one token. Use {OPTIONS}"
        raise DataError(f"{name}: the file has no tabs, but the training data have. {told}")
    # Tabs and white space read the same: no other look can find another.
    if all(t[:n] == w[:n] for t, w in zip(tabs, words, strict=True)):
        return TAB, TAB if preferred == TAB else None
    if all(_unpadded(t)[:n] == w[:n] for t, w in zip(tabs, words, strict=True)):
        return None, "whitespace"
    # What separates columns gives each line the same number of them. If both do or none, the training data
    # decide, and then the number of columns that were named.
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
        padded = [field for row in tabs for field in row if field.strip(" ") not in ("", field)]
        if padded:
            told = f"{padded[0]!r} between tabs begins or ends with a space. Remove it, or use {OPTIONS}"
            ways = "tab if it belongs to the value, whitespace if spaces separate columns"
            raise DataError(f"{name}: {told}: {ways}")
        return TAB, TAB
    if len(n_tabs) > 1 and len(n_words) > 1 and n is None:
        return None, "whitespace"  # the line with other columns will be named
    by_tab, by_word = (str(min(n)) if len(n) == 1 else f"{min(n)} to {max(n)}" for n in (n_tabs, n_words))
    told = f"lines have {by_tab} columns if separated by tabs, but {by_word} by whitespace"
    raise DataError(f"{name}: {told}. Use {OPTIONS}")


def _unpadded(fields: Sequence[str]) -> list[str]:
    """Fields without the blanks around them, and without empty ones at the end."""
    return "\t".join(field.strip(" \v\f") for field in fields).rstrip("\t").split("\t")


def words_of(line: str, separator: str | None = None) -> list[str]:
    """What stands between separators; None is ASCII white space."""
    return _WORD.findall(line) if separator is None else line.split(separator)


def is_blank(line: str) -> bool:
    """Whether a line of a column file ends a sentence."""
    return not line.strip(_BLANKS) or line.startswith("-DOCSTART-")


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has names of columns: known ones, the last of which is no label elsewhere."""
    known = _known_names(rows)
    return bool(known) and all(known)


def _may_be_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has a known name of a column, and its last field is no usual label."""
    known, label = _known_names(rows), rows[0][-1]
    is_label = _TAG.fullmatch(label) or label[:2] in ("B-", "I-", "E-", "S-")
    return any(known) and label not in ("NE", "MISC") and (known[-1] or not is_label)


def _known_names(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which fields of the first row are known names of columns; none if its last is a label elsewhere."""
    first, *others = rows or [[]]
    is_tag = len(first) == 2 and first[1] in ("NE", "MISC")  # of a first token such as "Text"
    is_row = len(first) == 1 and " " in first[0]  # which this separator does not split
    if not others or is_tag or is_row or any(row[-1:] == first[-1:] for row in others):
        return []
    names = (re.split("[ _-]", name.strip("#\"' ").lower())[0] for name in first)
    known = _NAMES if len(first) > 1 else {"word", "token"}
    return [name in known or name.removesuffix("s") in known for name in names]


class _Head:
    """The first lines of a file, and what is in those that are not blank."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.text = "\n".join(lines).lstrip("\n")
        self.rows = [line for line in lines if not is_blank(line)]
        self.words, self.tabbed = list(map(words_of, self.rows)), [row.split(TAB) for row in self.rows]
        self.widths = set(map(len, self.words))

    def has(self, pattern: str) -> bool:
        return re.search(pattern, self.text, re.MULTILINE) is not None


_Test = Callable[[_Head], bool]


def foreign(lines: Sequence[str]) -> str | None:
    """The format of a text that is not a column file, or None."""
    head = _Head(lines)
    if not head.rows:
        return None
    found = looks_like(head.text[:HEAD])
    if found is not None and found in _NEEDS and _NEEDS[found](head):
        if found != "CSV":
            return f"{found} (use --encoding utf-16)" if found == "UTF-16 text" else found
        if head.has(r"\"[^\"\n]*\""):
            return "CSV (save it with tabs and without quotes)"
        return f"CSV (use --separator '{max(',;', key=head.rows[0].count)}', or save it with tabs)"
    # `looks_like` knows formats of all kinds; those that only taggers meet are told here.
    own = next((name for name, is_sure in _OWN if is_sure(head)), None)
    return found if own == _TEXT and found not in (None, "CSV", *COLUMNS) else own


# --- what names of `looks_like` need, as tokens may begin alike ---------------------------------------------


def _by(pattern: str) -> _Test:
    return lambda head: head.has(pattern)


def _is_markup(head: _Head) -> bool:
    begins = head.has(r"\A<[?!]|\A<[^\s>]+ [^>]*=|\A<html>\s*<|\A(?:<[^<>]+>\s*)*<([\w.:-]+)>.*</\1>")
    return begins or (len(head.widths) > 1 and head.has(r"</[\w:.-]+>"))


def _have_features(head: _Head) -> bool:
    are_features = all(":" in word or word.startswith("#") for row in head.words for word in row[1:2])
    return are_features and max(head.widths) > 2  # a label may be a time


def _is_fasta(head: _Head) -> bool:
    letters = (len(row) == 1 and _RESIDUES.fullmatch(row[0]) for row in head.words if row[0][0] != ">")
    return head.has(r"\A>\w") and all(letters)


def _is_fastq(head: _Head) -> bool:
    rows = head.rows
    return len(rows) > 3 and len(head.words[0][0]) > 1 and len(rows[1]) == len(rows[3]) and rows[2][0] == "+"


def _is_phylip(head: _Head) -> bool:
    first, rows = head.words[0], head.words[1:]
    if not rows or not all(map(COUNT.fullmatch, first[:2])):
        return False
    # The first line has the numbers of sequences and of columns, which the rows have to confirm.
    n_rows, n_columns = map(int, first[:2])
    return len(rows) >= n_rows > 0 and len("".join(rows[0][1:])) == n_columns >= _LEAST_COLUMNS


def _are_bases(head: _Head) -> bool:
    """Whether rows are numbers of bases, letters, and partners that agree."""
    rows = [row for row in head.words if row[0][0] != "#"]
    if not all(len(row) == 3 and COUNT.fullmatch(row[0]) and COUNT.fullmatch(row[2]) for row in rows):
        return False
    partners = {int(row[0]): int(row[2]) for row in rows}
    return any(partners.values()) and all(partners.get(j, i) == i for i, j in partners.items() if j)


def _are_reactivities(head: _Head) -> bool:
    """Whether rows are numbers of bases, perhaps letters, and what probing measured of each."""
    # SHAPE files number bases from 1 and write -999 where nothing was measured.
    if [row[0] for row in head.words] != [str(k + 1) for k in range(len(head.rows))]:
        return False
    is_long = len(head.words[0]) == 2 and len(head.rows) >= _LEAST_COLUMNS
    return is_long or any("-999" in row for row in head.words)


def _is_csv(head: _Head) -> bool:
    are_numbers = all(re.fullmatch(r"[\d.,;$€£¥%+-]+", row) for row in head.rows)
    has_names = is_header([re.split("[,;]", head.rows[0]), []])
    return len(head.rows) > 1 and not are_numbers and (head.widths == {1} or has_names)


_NEEDS: dict[str, _Test] = {
    **dict.fromkeys(
        (
            *("PDF", "a gzip file", "a zip file", "a bzip2 file", "an xz file", "a Zstandard file"),
            *("UTF-16 text", "Stockholm", "NEXUS", "VCF", "GFF3", "GFF2", "GTF", "AUGUSTUS hints", "GenBank"),
            *("a feature template of CRF++", "a pattern file of Wapiti", "brat", "trees in brackets", "CT"),
            *("SJ.out.tab of STAR", "a table of RepeatMasker at UCSC", "a table of RepeatMasker (.out)"),
            "training data of spaCy",
        ),
        _by(""),
    ),
    "binary data": _by("[\0\udc80-\udcff]"),
    **dict.fromkeys(("LETOR", "SVMlight"), _have_features),
    **dict.fromkeys(("XML", "HTML"), _is_markup),
    **dict.fromkeys(("JSON", "JSONL"), _by(r"""\w["']\s*:\s*[\[{"'\dtfn-]|\A\[\s*"[^"\n]*"\s*[],]""")),
    **dict.fromkeys(("FASTA", "aligned FASTA", "A2M", "A3M"), _is_fasta),
    **dict.fromkeys(("PIR", "dot-bracket", "RNAfold -p output", "RNAsubopt output"), _by(r"\A>\S")),
    "BPSEQ": _are_bases,
    "FASTQ": _is_fastq,
    "PHYLIP": _is_phylip,
    "Newick": lambda head: bool(_NEWICK.match("".join(head.rows))),
    "reactivities": _are_reactivities,
    "CSV": _is_csv,
}


# --- formats of taggers -------------------------------------------------------------------------------------


def _are_attributes(head: _Head) -> bool:
    """Whether labels and attributes stand in a row, which may have as many of these as it likes."""
    rows = head.tabbed
    matches = [sum(_ATTRIBUTE.fullmatch(field) is not None for field in row[1:]) for row in rows]
    if len(rows) < 2 or not all(matches):
        return False
    n_fields, is_even = sum(map(len, rows)) - len(rows), len(set(map(len, rows))) == 1
    if sum(matches) == n_fields and (not is_even or any("[" in row[1] for row in rows)):
        return 2 * sum(len(row) > 2 for row in rows) >= len(rows)
    return 2 * sum(matches) >= n_fields and not is_even


def _with_tags(mark: str, in_columns: bool) -> _Test:
    """Tokens that have their tags with them, such as ``dog|NN`` or ``dog/NN``, one a line or more."""

    def test(head: _Head) -> bool:
        flat = [word for row in head.words for word in row]
        if (head.widths == {1}) != in_columns or len(flat) < 2:
            return False
        parts = [word.rpartition(mark) for word in flat]
        if all(token and _TAG.fullmatch(tag) for token, _, tag in parts):
            # words such as AC/DC may be tokens: tags are many, and come again
            is_sure = _LEAST_TAGGED <= len(flat) > len({tag for *_, tag in parts})
            return is_sure or mark == "|" or not in_columns
        inner = {word.strip(mark).count(mark) for word in flat}
        if len(inner) > 1 or mark == "_" or inner == {0}:
            return False
        if in_columns:
            return mark == "|" and inner != {1}
        return len(head.widths) > 1 or max(head.widths) > _MOST_WORDS or inner != {1}

    return test


def _are_sentences(head: _Head) -> bool:
    """Whether each row is a sentence: words in one field, and as many labels in the last."""
    least = min(map(len, head.tabbed))
    for split in (words_of, lambda field: [part for part in field.split(",") if part]):
        n_parts = [[len(split(field)) for field in row] for row in head.tabbed]
        if 2 * sum(row[-1] > 1 for row in n_parts) < len(n_parts) or max(row[-1] for row in n_parts) < 2:
            continue
        for k in range(least - 1):
            are_others = any(row[k] != row[-1] for row in head.tabbed)  # than a lemma that is the token
            if are_others and all(row[k] == row[-1] for row in n_parts):
                return True
    return False


def _is_text(head: _Head) -> bool:
    """Whether lines are sentences, or of many words and other numbers of them, with ends that differ."""
    if "\t" in head.text:
        return False
    is_wide = len(head.widths) > 1 or max(head.widths) > _LEAST_WORDS
    matches = list(map(_SENTENCE.fullmatch, head.rows))  # a capital, if the script has any, and an end
    are_sentences = all(m is not None and not (m[1].islower() or m[1].isdigit()) for m in matches)
    if is_wide and max(head.widths) >= _LEAST_WORDS and are_sentences:
        return True
    words = [row for row in head.words if row[0][0] != "#"]
    is_uneven = len(words) >= _LEAST_LINES and len(set(map(len, words))) > 1
    ends = {row[-1] for row in words}
    return is_uneven and sum(map(len, words)) > _LEAST_WORDS * len(words) and 2 * len(ends) > len(words)


_OWN: tuple[tuple[str, _Test], ...] = (
    ("the output of structune predict --nbest", _by(r"\A# sentence \d+ rank \d+ probability ")),
    ("the n-best output of CRF++", _by(r"\A# \d+ \d\.\d+\s*$")),
    ("the output of crfsuite tag", _by(r"\A@(?:probability|score)\t")),
    ("a model of Wapiti", _by(r"\A#mdl#\d+#")),
    ("a model of CRF++", _by(r"\Aversion: \d+\ncost-factor:")),
    ("CoNLL-2012", _by(r"\A#begin document ")),
    ("WebAnno TSV", _by(r"\A#FORMAT=WebAnno")),
    ("PubTator", _by(r"\A\d+\|[ta]\|")),
    ("an attribute file of CRFsuite", _are_attributes),
    ("tokens with | between their columns (use --separator '|')", _with_tags("|", True)),
    ("tokens with a tag after / (use --separator '/')", _with_tags("/", True)),
    ("tokens with a tag after _ (use --separator '_')", _with_tags("_", True)),
    ("tokens with | between their columns", _with_tags("|", False)),
    ("tokens with a tag after /", _with_tags("/", False)),
    ("tokens with a tag after _", _with_tags("_", False)),
    ("a list of lists, as Python or JSON has them", _by(r"\A\[\s*[\[(]\s*[\"']")),
    ("one sentence per line, with its words in one column and its labels in the last", _are_sentences),
    (_TEXT, _is_text),
)
