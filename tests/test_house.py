"""The plan of the house: which room may know of which, and that no files import each other in a circle."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import structune

HOUSE = Path(structune.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
GROUND = {  # each room with those that it may know of
    "errors": set(),
    "kernels": set(),
    "structure": {"errors"},
    "kinds": {"errors"},
    "files": {"kinds", "structure", "errors"},
    "running": {"files", "errors"},
    "learning": {"running", "files", "kinds", "structure", "errors"},
    "plots": {"errors"},
    "html_reports": {"plots", "learning", "files", "structure", "errors"},
    "trees": {"learning", "running", "files", "kinds", "structure", "errors"},
    "cli": {"html_reports", "plots", "trees", "learning", "running", "files", "kinds", "kernels", "errors"},
}
KINDS = {  # all the ground, and of each other
    "tagging": set(),
    "rna": set(),
    "alignment": set(),
    "flat": set(),
    "ranking": {"flat"},
    "genes": set(),
    "compat": {"tagging"},
}
KNOWS = GROUND | {kind: others | GROUND.keys() for kind, others in KINDS.items()}


def room_of(module):
    """The first word of a module's name within the package; that of the package itself is none."""
    return module.split(".")[1] if "." in module else ""


@cache
def imported(path):
    """Modules of the package that a file imports, wherever it does so."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: found a relative import"
            found += [f"{node.module}.{name.name}" for name in node.names]
    return found


def test_a_room_knows_only_of_those_below_it():
    for path in FILES:
        room = path.relative_to(HOUSE).parts[0].removesuffix(".py")
        found = {room_of(name) for name in imported(path) if name.partition(".")[0] == "structune"}
        if room != "__init__":
            assert found - {room, "", "__version__"} <= KNOWS[room], path


def test_there_is_no_circle():
    order = list(TopologicalSorter(KNOWS).static_order())
    assert set(order) == {path.relative_to(HOUSE).parts[0].removesuffix(".py") for path in FILES} - {
        "__init__"
    }


def test_there_is_no_circle_of_files():
    """Wherever a file imports another: in functions, and for types alone, too."""
    modules = {".".join((HOUSE.name, *path.relative_to(HOUSE).with_suffix("").parts)): path for path in FILES}
    knows = {}
    for module, path in modules.items():
        names = [name for name in imported(path) if name.partition(".")[0] == HOUSE.name]
        found = (name if name in modules else name.rpartition(".")[0] for name in names)
        knows[module] = {name for name in found if name in modules}
    TopologicalSorter(knows).prepare()  # raises a CycleError that names them


def test_rooms_say_what_is_in_them():
    for room in (*KINDS, "trees", "learning", "running", "files", "plots"):
        doc = ast.get_docstring(ast.parse((HOUSE / room / "__init__.py").read_text(encoding="utf-8")))
        assert 3 <= len(doc.splitlines()) <= 16
        for path in (HOUSE / room).iterdir():  # each file and folder is told of
            assert path.stem.startswith("_") or path.suffix not in ("", ".py") or f"{path.stem}" in doc, path
