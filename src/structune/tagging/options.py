"""Options of the commands of taggers; nothing heavy is imported here, so that ``--help`` is fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from structune.cli.fields import jobs_option, option, quiet_option


@dataclass(frozen=True)
class Format:
    """How files are read."""

    separator: str | None = option(
        None,
        help="Column separator: tab, whitespace, or other text such as a comma. By default it is detected "
        "from the first lines: tab or whitespace.",
    )
    comment: str | None = option(
        None,
        help="Skip lines that begin with this text; an empty text skips no lines. By default, comments of "
        "CoNLL-U and lines such as '# sent_id = 1' before a sentence are skipped.",
    )
    encoding: str | None = option(
        None, help="Encoding of the files, such as latin-1 or utf-16. UTF-8 by default. Output is UTF-8."
    )


@dataclass(frozen=True)
class Learning(Format):
    """How the columns of a file become features and labels."""

    columns: str | None = option(
        None,
        help="Comma-separated names of the first columns. The last name must be that of the label column. "
        "Further columns are ignored. All lines must have the same number of columns unless --separator "
        "is given. By default all columns are used, with the names w,y or w,pos,y or w,pos,c2,...,y.",
    )
    templates: str | None = option(
        None,
        panel="Model",
        help="Feature templates, such as 'w[-2..2] w[-1]|w[0] w[0].suffix3 w[0].shape', or a file of these, "
        "or a template file of CRF++ or Wapiti. The default depends "
        "on the columns. It has windows of 5 tokens, pairs of neighbors, triples (not of the first column) "
        "and the ends of the sentence. If the first column has words and not only single letters, it adds "
        "their lower case, shapes, prefixes and suffixes, and pairs of words and other columns.",
    )


@dataclass(frozen=True)
class Predicting(Format):
    """What is predicted for column files."""

    marginals: bool = option(False, help="Add a column with the probability of each predicted label.")
    nbest: int | None = option(None, min=1, help="Write the N most probable labelings of each sentence.")


@dataclass(frozen=True)
class Top:
    """How many weights are shown."""

    top: int = option(20, min=1, help="Number of largest and of smallest weights to show.", panel="Output")


@dataclass(frozen=True)
class Explaining(Format):
    """What is explained."""

    sentences: int = option(3, min=1, help="Number of first sentences to explain.", panel="Output")


@dataclass(frozen=True)
class Reviewing(Learning):
    """How a tagger is cross-validated, and what is shown."""

    folds: int = option(5, min=2, help="Number of random folds.", panel="Evaluation")
    report: Path | None = option(None, help="Write a report to this .html file.", panel="Output")
    jobs: int = jobs_option()
    quiet: bool = quiet_option()
