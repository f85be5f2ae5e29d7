"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import structune

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
