"""Options of the commands of taggers; nothing heavy is imported here, so that ``--help`` comes at once."""

from __future__ import annotations

from dataclasses import dataclass

from structune.cli.fields import option


@dataclass(frozen=True)
class Format:
    """How the lines of column files are read."""

    separator: str | None = option(
        None,
        help="What separates columns: tab, whitespace, or other text such as a comma. By default a look at "
        "the first lines tells tabs from white space.",
    )
    comment: str | None = option(
        None,
        help="Skip lines that begin with this text; an empty text skips none. By default lines such as "
        "'# sent_id = 1' before a sentence are skipped, and comments of CoNLL-U.",
    )


@dataclass(frozen=True)
class Learning(Format):
    """How the columns of a file become features and labels."""

    columns: str | None = option(
        None,
        help="Names of the first columns, the label's last. Further columns are ignored, but all lines must "
        "have the same number unless --separator is given. By default w,y or w,pos,y or w,pos,c2,...,y, for "
        "all columns of the file.",
    )
    templates: str | None = option(
        None,
        panel="Model",
        help="Feature templates, such as 'w[-2..2] w[-1]|w[0] w[0].suffix3 w[0].shape'. The default is made "
        "for the columns: windows of 5 tokens, pairs of neighbours, triples (not of the first column) and "
        "ends of the sentence. Unless the first column has single letters, it adds lower case, shapes and "
        "affixes of the words, and words together with the other columns.",
    )


@dataclass(frozen=True)
class Predicting(Format):
    """What is predicted of column files."""

    marginals: bool = option(False, help="Add a column: the probability of each predicted label.")
    nbest: int | None = option(None, min=1, help="Write this many of the most probable labellings.")


@dataclass(frozen=True)
class Top:
    """How many weights are shown."""

    top: int = option(20, min=1, help="Number of largest and of smallest weights to show.", panel="Output")
