"""Links between files of the repository lead somewhere, and names are those of now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import DOCS, pages

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "src" / "structune"
FILES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *pages()]
_LINK = re.compile(r"!?\[[^]]*\]\(<?([^)\s>]+)>?\)")
_IMAGE = re.compile(r"^```{(?:image|figure)} (\S+)$", re.MULTILINE)
_FENCED = re.compile(r"^(```+)(?!{image|{figure).*?^\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
# what code quotes: a file of the repository, from its root
_QUOTED = re.compile(r"`((?:src|tests|docs|benchmarks|examples|training)/[\w./-]*\.\w+)`")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(path):
    """What headings are called in links."""
    words = (
        re.sub(r"[^\w\- ]", "", text.lower()) for text in _HEADING.findall(path.read_text(encoding="utf-8"))
    )
    return {word.strip().replace(" ", "-") for word in words}


def broken(path, text):
    """Links of a page, as it is on GitHub and in the site, that lead nowhere."""
    prose = _CODE.sub("", _FENCED.sub("", text))
    for link in (*_LINK.findall(prose), *_IMAGE.findall(text)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link
    yield from (name for name in _QUOTED.findall(text) if not (ROOT / name).exists())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path):
    assert list(broken(path, path.read_text(encoding="utf-8"))) == []


def test_a_broken_link_is_found():
    text = "[a](nowhere.md) [b](tutorial.md#install) [c](tutorial.md#nowhere) `tests/nowhere.py` `[d](e.md)`"
    assert list(broken(DOCS / "index.md", text)) == ["nowhere.md", "tutorial.md#nowhere", "tests/nowhere.py"]


# modules and folders, from the package or from the root
_MODULE = re.compile(r"`([\w/]+(?:\.pyi?|/))`")


_OF_THE_CODE = [
    DOCS / "architecture.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((DOCS / "decisions").glob("0*.md")),
]


@pytest.mark.parametrize("page", _OF_THE_CODE, ids=lambda path: path.name)
def test_files_that_pages_name_are_there(page):
    """From the root, from the package, or, where all kinds have one, from a room."""
    named = set(_MODULE.findall(page.read_text(encoding="utf-8")))
    places = {name: [ROOT / name, HOUSE / name, *HOUSE.glob(f"*/{name}")] for name in named}
    assert [name for name, paths in places.items() if not any(path.exists() for path in paths)] == []


def test_the_map_is_short_and_lists_all_decisions():
    assert len((DOCS / "architecture.md").read_text(encoding="utf-8").splitlines()) <= 250
    found = [path.stem for path in sorted((DOCS / "decisions").glob("0*.md"))]
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^0.*$", index, re.MULTILINE) == found
    for name in found:
        assert len((DOCS / "decisions" / f"{name}.md").read_text(encoding="utf-8").splitlines()) <= 60, name
