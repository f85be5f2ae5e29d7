"""Scripts that the suite does not run import what is there."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path for folder in ("benchmarks", "training", "examples") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("structune") and not name.name.startswith("structune_"):
                    import_module(name.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "structune":
            module = import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):
                    import_module(f"{node.module}.{name.name}")


def test_there_are_scripts():
    assert len(SCRIPTS) > 30
