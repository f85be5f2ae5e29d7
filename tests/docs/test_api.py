"""The API reference has every public name, and examples of docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from pages import DOCS

import structune

HOUSE = Path(structune.__file__).parent
STUBS = sorted(
    ".".join(("structune", *path.parent.relative_to(HOUSE).parts)) for path in HOUSE.rglob("*.pyi")
)
_LINE = re.compile(r"\.\. currentmodule:: (?P<module>\S+)|   (?P<name>[~\w.]+)|\.\. py:data:: (?P<data>\w+)")


def listed():
    """What docs/api.md lists for each module, as names that can be imported."""
    found, module = {}, ""
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line)
        if match and match["module"]:
            module = match["module"]
        elif match:
            name = match["name"] or match["data"]
            found.setdefault(module, set()).add(name[1:] if name[0] == "~" else f"{module}.{name}")
    return found


def named(place):
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("module", STUBS)
def test_every_public_name_is_there(module):
    there = listed().get(module, set())
    for name in import_module(module).__all__:
        if isinstance(getattr(import_module(module), name), ModuleType):
            continue  # a room, which has a section
        # a name that rooms share has its page where the first of them has it
        places = [place for place in there if place.rpartition(".")[2] == name]
        assert places, f"docs/api.md does not list {name} below {module}"
        assert named(places[0]) is getattr(import_module(module), name)


ROOT = Path(structune.__file__).parent
MODULES = sorted(
    ".".join(("structune", *path.relative_to(ROOT).with_suffix("").parts))
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed
