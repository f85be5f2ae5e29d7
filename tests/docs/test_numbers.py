"""Numbers of the how-to guides are those of the tables that the benchmarks make."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from pages import DOCS

ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?!\w|\.\d)")
_SECTION = re.compile(r"^## How good it is\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
GUIDES = [
    path
    for path in sorted((DOCS / "howto").glob("*.md"))
    if _SECTION.search(path.read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def measured():
    """All numbers with a decimal point in the tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import tables
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    makers = [
        getattr(tables, name.replace("-", "_")) for name in re.findall(r"{benchmark-table} (\S+)", page)
    ]
    assert len(makers) > 20
    assert all(not inspect.signature(make).parameters for make in makers)
    return set(_NUMBER.findall(" ".join(make() for make in makers)))


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_numbers_are_measured(path, measured):
    (section,) = _SECTION.findall(path.read_text(encoding="utf-8"))
    scripts = re.findall(r"python (benchmarks/\w+\.py)", section)
    assert scripts
    assert all((ROOT / script).is_file() for script in scripts)
    assert set(_NUMBER.findall(section)) - measured == set()


def test_all_benchmarks_are_told_of():
    """What `make bench` runs is on the page of benchmarks, but for what only counts."""
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    scripts = [path for path in (ROOT / "benchmarks").glob("*.py") if "\ndef main" in path.read_text("utf-8")]
    untold = {path.name for path in scripts if f"benchmarks/{path.name}" not in page}
    assert len(scripts) > 40
    assert untold == {"fuzz_atheris.py", "tables.py", "walks.py"}
