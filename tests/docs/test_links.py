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


@pytest.mark.parametrize("page", [DOCS / "design.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_what_is_said_of_the_house_is_there(page):
    named = set(_MODULE.findall(page.read_text(encoding="utf-8")))
    assert {name for name in named if not any((root / name).exists() for root in (ROOT, HOUSE))} == set()
    assert len(named) > 5
