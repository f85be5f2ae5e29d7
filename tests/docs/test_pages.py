"""Every block of code and every command of the documentation does what the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pages import DOCS, NO_SHELL, blocks, commands, pages, run, same

from commands import succeed

PAGES = [path for path in pages() if blocks(path.read_text(encoding="utf-8"))]
unix = pytest.mark.skipif(NO_SHELL[0], reason=NO_SHELL[1])


@unix
@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_page(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for block, printed in run(path.read_text(encoding="utf-8")):
        assert block.shows(printed), (
            f"{path.name}, line {block.line}: printed\n{printed}\nexpected\n{block.body}"
        )


def test_blocks():
    console = "% exit code: 2\n```console\n$ a \\\n    b\n$ c\n```\n"
    command, file = blocks(console + "\n```{code-block} text\n:caption: x.txt\n\n1\n```\n")
    assert commands(command.body) == ["a      b", "c"]
    assert (command.exit_code, command.line) == (2, 2)
    assert (file.kind, file.file, file.body) == ("text", "x.txt", "1\n")


def test_unknown_note():
    with pytest.raises(ValueError, match="line 2: found the note 'skip'"):
        blocks("% skip\n```python\n1\n```\n")


@pytest.mark.parametrize(("kind", "body"), [("console", "$ false"), ("console", "ls"), ("python", "1 / 0")])
def test_failures(kind, body):
    with pytest.raises(AssertionError):
        run(f"```{kind}\n{body}\n```\n")


@pytest.mark.parametrize(
    ("expected", "printed", "is_same"),
    [
        ("a  0.50 b\n", "a 0.52 b", True),
        ("a 0.50\n", "a 0.60", False),
        ("a ... d\n", "a b\nc d", True),
        ("3 of 4\n", "3 of 5", False),
    ],
)
def test_same(expected, printed, is_same):
    assert same(expected, printed) == is_same


ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(NO_SHELL[0], reason=NO_SHELL[1])
@pytest.mark.slow
def test_all_blocks(tmp_path, monkeypatch):
    """From an empty folder."""
    monkeypatch.chdir(tmp_path)
    for block, printed in run(README):
        assert block.shows(printed), f"line {block.line}: printed\n{printed}"
    assert Path("structures.dbn").read_text().startswith(">hairpin-1")
    assert Path("genes.gff3").read_text().startswith("##gff-version 3")


RNA = "GGGGAAAACCCCAAAAGGGGAAAACCCC"
FOLDED = f">a\n{RNA}\n((((....))))....((((....))))\n"
FILES = {
    "seq.fa": f">a\n{RNA}\n>b\n{RNA[::-1]}\n",
    "one.fa": f">a\n{RNA}\n",
    "two.fa": f">a\n{RNA[:14]}&{RNA[14:]}\n",
    "constrained.fa": f">a\n{RNA}\n{'x' * 12}{'.' * 16}\n",
    "known.dbn": FOLDED,
    "predicted.dbn": FOLDED,
    "out.txt": FOLDED.rstrip() + " (-9.10)\n",
    "family.sto": f"# STOCKHOLM 1.0\na {RNA}\nb {RNA}\n//\n",
    "file": "F 1 12 4\nP 20 0 2\n",
    "reactivities.txt": "".join(f"{k} 0.5\n" for k in range(1, 29)),
}


@unix
@pytest.mark.slow
def test_the_commands_for_those_of_viennarna(tmp_path, monkeypatch):
    """Those of the table, in its second column."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    page = (DOCS / "coming_from" / "vienna.md").read_text(encoding="utf-8")
    asked = re.findall(r"^\|[^|]*\| `structune ([^`]*)` \|", page, re.MULTILINE)
    assert len(asked) > 20
    for words in asked:
        assert succeed(*words.split()), words


def test_all_blocks_are_shown():
    assert [block.kind for block in blocks(README)] == ["console", "python", "output", "python"]


def test_its_numbers_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    sys.modules.pop("tables", None)
    import tables

    (shown,) = re.findall(r"<!-- numbers -->\n(.*?)\n<!-- /numbers -->", README, re.DOTALL)
    assert shown == tables.numbers(), "python benchmarks/tables.py writes them anew"
