"""Sets of templates: that of CRFsuite's example, and those that the command line takes by default."""

from __future__ import annotations

from collections.abc import Sequence

from structune.errors import DataError
from structune.tagging.features.templates import Template, parse_templates

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


def conll2000_templates(word: str = "w", tag: str = "pos") -> list[Template]:
    """The templates of CRFsuite's chunking example (``example/chunking.py``), in its order."""
    return symbol_templates(word, [tag])


def symbol_templates(symbol: str = "w", tags: Sequence[str] = ()) -> list[Template]:
    """Windows of five tokens, pairs of neighbours, the ends; of each column of `tags` triples as well.

    For tokens whose letters say nothing: bases, residues, events.

    Raises
    ------
    DataError
        `tags` that are a string.
    """
    if isinstance(tags, str):
        raise DataError(f"tags={tags!r}: expected a list of columns")
    columns = [_WORDS.format(symbol), *(_TAGS.format(tag) for tag in tags)]
    return parse_templates([*columns, "__BOS__ __EOS__"])


def text_templates(word: str = "w", tags: Sequence[str] = ()) -> list[Template]:
    """Those of symbols, and the letters of words and of their neighbours, and words together with tags.

    The default of the command line for names, phrases and parts of speech.

    Parameters
    ----------
    word : str
        Column of the words.
    tags : sequence of str
        Columns of what is known about each word, such as its part of speech.

    Returns
    -------
    list of Template

    Raises
    ------
    DataError
        `tags` that are a string.
    """
    together = [_WORDS_AND_TAGS.format(word, tag) for tag in tags]
    return parse_templates([*symbol_templates(word, tags), _LETTERS.format(word), *together])
