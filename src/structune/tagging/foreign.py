"""Formats that are no column files, by their first lines: their names, and what each needs to be sure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from structune.files.looks_like import HEAD, looks_like

COLUMNS = ("CoNLL", "CoNLL-U", "tab-separated columns", "columns of words")  # which column files look like
_BLANKS = " \t\v\f"
_WORD = re.compile(rf"[^{_BLANKS}]+")
_ATTRIBUTE = re.compile(r"[^=]+=.*|.*[^\\]:[-+]?[\d.]+(?:[eE][-+]?\d+)?|__[BE]OS__")
COUNT = re.compile(r"[0-9]{1,9}")
_TAG = re.compile(r"[A-Z][A-Z\d$-]*|[^\w\s]+")
_RESIDUES = re.compile(r"[A-Za-z*.-]+")
_SENTENCE = re.compile(r"[\"'(]?(\w).*\w *[.!?\u3002\uff01\uff1f][\"')]?")
_MOST_WORDS = 3  # of a row of columns whose values may all have a slash or a bar
_LEAST_COLUMNS = 5  # of an alignment in PHYLIP: less may be the label of a number
_TEXT = "plain text"
_LEAST_TAGGED = 5  # tokens, one a line
_LEAST_WORDS, _LEAST_LINES = 3, 3  # of a text: words in a line, lines
_NAMES = {  # of columns, as their headers begin
    *("word", "token", "form", "text", "lemma", "id", "sentence", "sent", "pos", "upos", "xpos", "tag"),
    *("label", "ner", "ne", "iob", "bio", "chunk", "entity", "feats", "head", "deprel", "deps", "misc"),
}


def words_of(line: str) -> list[str]:
    """What stands between ASCII white space."""
    return _WORD.findall(line)


def is_blank(line: str) -> bool:
    """Whether a line of a column file ends a sentence."""
    return not line.strip(_BLANKS) or line.startswith("-DOCSTART-")


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has names of columns: known ones, the last of which is no label elsewhere."""
    names = [re.split("[ _-]", name.strip("#\"' ").lower())[0] for name in rows[0]] if len(rows) > 1 else []
    known = _NAMES if len(names) > 1 else {"word", "token"}
    are_known = all(name in known or name.removesuffix("s") in known for name in names)
    is_tag = len(names) == 2 and rows[0][1] in ("NE", "MISC")  # of a first token such as "Text"
    return bool(names) and are_known and not is_tag and all(row[-1:] != rows[0][-1:] for row in rows[1:])


@dataclass(frozen=True)
class _Head:
    """The first lines of a file."""

    text: str
    rows: list[str]  # that are not blank

    @cached_property
    def words(self) -> list[list[str]]:
        return list(map(words_of, self.rows))

    @cached_property
    def widths(self) -> set[int]:
        return set(map(len, self.words))

    @cached_property
    def tabbed(self) -> list[list[str]]:
        return [row.split("\t") for row in self.rows]

    def has(self, pattern: str) -> bool:
        return re.search(pattern, self.text, re.MULTILINE) is not None


_Test = Callable[[_Head], bool]


def foreign(lines: Sequence[str]) -> str | None:
    """What a text is that has no columns."""
    head = _Head("\n".join(lines).lstrip("\n"), [line for line in lines if not is_blank(line)])
    if not head.rows:
        return None
    found = looks_like(head.text[:HEAD])
    if found is not None and _NEEDS.get(found, _never)(head):
        return f"CSV ({_csv_advice(head)})" if found == "CSV" else found
    own = next((name for name, is_sure in _OWN if is_sure(head)), None)
    return found if own == _TEXT and found not in (None, "CSV", *COLUMNS) else own


# --- what names of `looks_like` need, as tokens may begin alike ---------------------------------------------


def _always(head: _Head) -> bool:
    return True


def _never(head: _Head) -> bool:
    return False


def _are_bytes(head: _Head) -> bool:
    return head.has("[\0\udc80-\udcff]")


def _is_json(head: _Head) -> bool:
    return head.has(r"""\w["']\s*:\s*[\[{"'\dtfn-]|\A\[\s*"[^"\n]*"\s*[],]""")


def _is_markup(head: _Head) -> bool:
    begins = head.has(r"\A<[?!]|\A<[^\s>]+ [^>]*=|\A<html>\s*<")
    return begins or (len(head.widths) > 1 and head.has(r"</[\w:.-]+>"))


def _have_features(head: _Head) -> bool:
    are_features = all(":" in word or word.startswith("#") for row in head.words for word in row[1:2])
    return are_features and max(head.widths) > 2  # a label may be a time


def _has_headers(head: _Head) -> bool:
    return head.has(r"\A>\S")


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
    n_rows, n_columns = map(int, first[:2])
    return len(rows) >= n_rows > 0 and len("".join(rows[0][1:])) == n_columns >= _LEAST_COLUMNS


def _is_newick(head: _Head) -> bool:
    return re.match(r"\((?=[^;]*[(:])[^;]*,[^;]*\)[^;]*;(?:\(|\Z)", "".join(head.rows)) is not None


def _are_bases(head: _Head) -> bool:
    """Whether rows are numbers of bases, letters, and partners that agree."""
    rows = [row for row in head.words if row[0][0] != "#"]
    if not all(len(row) == 3 and COUNT.fullmatch(row[0]) and COUNT.fullmatch(row[2]) for row in rows):
        return False
    partners = {int(row[0]): int(row[2]) for row in rows}
    return any(partners.values()) and all(partners.get(j, i) == i for i, j in partners.items() if j)


def _are_reactivities(head: _Head) -> bool:
    are_counted = [row[0] for row in head.words] == [str(k + 1) for k in range(len(head.rows))]
    is_long = len(head.words[0]) == 2 and len(head.rows) >= _LEAST_COLUMNS
    return are_counted and (is_long or any("-999" in row for row in head.words))


def _is_csv(head: _Head) -> bool:
    are_numbers = all(re.fullmatch(r"[\d.,;$€£¥%+-]+", row) for row in head.rows)
    has_names = is_header([re.split("[,;]", head.rows[0]), []])
    return len(head.rows) > 1 and not are_numbers and (head.widths == {1} or has_names)


def _csv_advice(head: _Head) -> str:
    quoted = head.has(r"\"[^\"\n]*\"")
    mark = max(",;", key=head.rows[0].count)
    return (
        "save it with tabs, without quotes" if quoted else f"give --separator '{mark}', or save it with tabs"
    )


_NEEDS: dict[str, _Test] = {
    **dict.fromkeys(
        (
            *("PDF", "a gzip file", "a zip file", "a bzip2 file", "an xz file", "a Zstandard file"),
            *("UTF-16 text", "Stockholm", "NEXUS", "VCF", "GFF3", "GFF2", "GTF", "AUGUSTUS hints", "GenBank"),
            *("a feature template of CRF++", "a pattern file of Wapiti", "brat", "trees in brackets", "CT"),
            *("SJ.out.tab of STAR", "a table of RepeatMasker at UCSC", "a table of RepeatMasker (.out)"),
            "training data of spaCy",
        ),
        _always,
    ),
    "binary data": _are_bytes,
    **dict.fromkeys(("LETOR", "SVMlight"), _have_features),
    **dict.fromkeys(("XML", "HTML"), _is_markup),
    **dict.fromkeys(("JSON", "JSONL"), _is_json),
    **dict.fromkeys(("FASTA", "aligned FASTA", "A2M", "A3M"), _is_fasta),
    **dict.fromkeys(("PIR", "dot-bracket", "RNAfold -p output", "RNAsubopt output"), _has_headers),
    "BPSEQ": _are_bases,
    "FASTQ": _is_fastq,
    "PHYLIP": _is_phylip,
    "Newick": _is_newick,
    "reactivities": _are_reactivities,
    "CSV": _is_csv,
}


# --- formats of taggers -------------------------------------------------------------------------------------


def _by(pattern: str) -> _Test:
    return lambda head: head.has(pattern)


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


def _is_sentence(row: str) -> bool:
    """Whether a row begins with a capital, if its script has any, and ends as sentences do."""
    found = _SENTENCE.fullmatch(row)
    return found is not None and not found[1].islower() and not found[1].isdigit()


def _is_text(head: _Head) -> bool:
    """Whether lines are sentences, or of many words and other numbers of them, with ends that differ."""
    if "\t" in head.text:
        return False
    is_wide = len(head.widths) > 1 or max(head.widths) > _LEAST_WORDS
    if is_wide and max(head.widths) >= _LEAST_WORDS and all(map(_is_sentence, head.rows)):
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
    ("the attributes of CRFsuite", _are_attributes),
    ("tokens with | between their columns (give --separator '|')", _with_tags("|", True)),
    ("tokens with a tag after / (give --separator '/')", _with_tags("/", True)),
    ("tokens with a tag after _ (give --separator '_')", _with_tags("_", True)),
    ("tokens with | between their columns", _with_tags("|", False)),
    ("tokens with a tag after /", _with_tags("/", False)),
    ("tokens with a tag after _", _with_tags("_", False)),
    ("a sentence a line, with its words in one field and its labels in the last", _are_sentences),
    (_TEXT, _is_text),
)
