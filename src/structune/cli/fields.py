"""Options of commands, made from the fields of dataclasses and the parameters of estimators.

The parameters of an estimator are read from its source, not from the imported class, so that ``--help`` does
not wait for numerical libraries. Names and defaults come from the annotated assignments of the class and its
bases; choices and help come from the section "Parameters" of their docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from structune.files.docstrings import parameter_entries

T = TypeVar("T")
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z\"'])")  # its end
# sentences of docstrings about values that can be given only in Python
_FOR_PYTHON = re.compile(
    r"(?<=[.)]) (?:Or those that a function|A callable|Or a (?:loss|constraints) object|In a list,|Set after)"
    r"[^.]*(?:\.\w[^.]*)*\."
)
_CODE = re.compile(r"`+([^`]+)`+")


class Option(click.Option):
    """An option in a panel of the help."""

    def __init__(self, *args: Any, panel: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.panel = panel


class Number(click.ParamType[Any]):
    """A number, read as an int if it has no decimal point: `--cv 5` folds, or `--cv 0.2` of the examples."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float:
        text = str(value)  # of a default or of a YAML file it is a number, which `int` would cut short
        with suppress(ValueError):
            return int(text)
        try:
            return float(text)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)


class GroupedNumbers(click.ParamType[Any]):
    """A number for all groups, numbers for single groups as GROUP=NUMBER, or a word."""

    name = "number"

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = words

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str | None, Any]:
        if value in self.words:
            return None, value
        name, is_of_group, number = str(value).rpartition("=")
        try:
            return (name if is_of_group else None), float(number)
        except ValueError:
            self.fail(f"give {', '.join(['a number', *self.words])}, or GROUP=NUMBER.", param, ctx)


def option(default: Any = MISSING, *names: str, help: str, panel: str = "Data", **more: Any) -> Any:
    """A dataclass field that becomes an option of the command line.

    Parameters
    ----------
    default : optional
        Default value; without it the option is required.
    *names : str
        Names of the option; by default ``--`` and the name of the field.
    help : str
        Help text of the option.
    panel : str
        Heading of the help below which the option is listed.
    **more
        Arguments of `click.Option`, and ``min`` and ``max`` for numbers.
    """
    return field(default=default, metadata={"names": names, "help": help, "panel": panel, **more})


def jobs_option(panel: str = "Running") -> Any:
    """The option ``--jobs``."""
    return option(-1, help="Number of threads. -1 uses all cores, -2 all but one, and so on.", panel=panel)


def quiet_option(panel: str = "Running") -> Any:
    """The option ``--quiet``."""
    return option(False, "--quiet", "-q", help="Show no progress.", panel=panel)


def output_option() -> Any:
    """The option ``--output`` of commands that write one file."""
    told = "File to write, compressed if its name ends in .gz; - is standard output."
    return option("-", "--output", "-o", help=told, panel="Output")


def dataclass_options(cls: type, panel: str | None = None) -> Iterator[Option]:
    """An option for each field of a dataclass that was made by `option`."""
    hints = get_type_hints(cls)
    for each in fields(cls):
        more = dict(each.metadata)
        names = more.pop("names") or (f"--{each.name.replace('_', '-')}",)
        is_required = each.default is MISSING
        shape = _shape(hints[each.name], more.pop("min", None), more.pop("max", None)) | more
        shape |= {"required": is_required} if is_required else {"default": each.default}
        shape["panel"] = panel or shape["panel"]
        yield _made(each.name, names, shape)


def options_by_name() -> dict[str, str]:
    """Options of the current command, by the names of their parameters."""
    params = click.get_current_context().command.params
    return {str(each.name): each.opts[0] for each in params if isinstance(each, click.Option)}


def given_parameters() -> dict[str, Any]:
    """Parameters that were set on the command line or in a --config file, by name."""
    ctx = click.get_current_context()
    default = (ParameterSource.DEFAULT, None)
    names = [str(each.name) for each in ctx.command.params if each.expose_value]
    return {name: ctx.params[name] for name in names if ctx.get_parameter_source(name) not in default}


def values_of(cls: type[T], values: Mapping[str, Any]) -> T:
    """An instance of a dataclass of options, made from the given values."""
    found = [each for each in fields(cls) if each.name in values or each.default is MISSING]  # type: ignore[arg-type]
    return cls(**{each.name: values[each.name] for each in found})


def _made(name: str, names: Sequence[str], shape: dict[str, Any]) -> Option:
    if shape.get("type") in (int, float) or isinstance(shape.get("type"), click.IntRange | click.FloatRange):
        is_int = shape["type"] is int or isinstance(shape["type"], click.IntRange)
        shape.setdefault("metavar", "N" if is_int else "NUMBER")
    # flags that are off, and options that are not given by default, need no default in the help
    shape["show_default"] = shape.get("default") is not False and shape.get("default") not in (None, (), "")
    return Option([*names, name], **shape)


def _shape(hint: Any, least: Any = None, most: Any = None) -> dict[str, Any]:
    """How click reads a value of this type."""
    if get_origin(hint) in (Union, UnionType):  # X | None, which click has for every option
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) in (list, tuple):
        return _shape(get_args(hint)[0], least, most) | {"multiple": True}
    if get_origin(hint) is Literal:
        return {"type": click.Choice(get_args(hint))}
    if hint is bool:
        return {"is_flag": True}
    if hint is Path:
        return {"type": click.Path(path_type=Path), "metavar": "FILE"}
    if hint in (int, float) and (least is not None or most is not None):
        return {"type": (click.IntRange if hint is int else click.FloatRange)(least, most)}
    return {"type": hint}


# --- of estimators ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parameter:
    """Default of a parameter of an estimator, its type as the docstring says it, and its help."""

    default: Any
    type: str
    help: str

    def shape(self) -> dict[str, Any]:
        """How click reads it."""
        words = re.findall(r'"([^"]+)"', self.type)
        if "float" in self.type and "dict" in self.type:
            return {"type": GroupedNumbers(words), "multiple": True, "metavar": "|".join(["NUMBER", *words])}
        if words:
            return {"type": click.Choice(words), "multiple": self.type.startswith("sequence")}
        if numbers := re.fullmatch(r"\{([\d, ]+)\}", self.type):
            return {"type": click.Choice([int(number) for number in numbers[1].split(",")])}
        if "float" in self.type and "int" in self.type:
            return {"type": Number(), "metavar": "NUMBER"}
        return _shape({"bool": bool, "int": int, "float": float, "str": str}[re.split(r"[ ,]", self.type)[0]])


def estimator_options(
    estimator: str, panels: Mapping[str, Iterable[str]], other_names: Mapping[str, str]
) -> Iterator[click.Option]:
    """Options for parameters of an estimator, by panel of the help.

    `estimator` is its class, as ``"package.module:Class"``; `other_names` maps parameters to options with
    another name.
    """
    known = _parameters_of(estimator)
    of_all = [name for names in panels.values() for name in names]
    flags = {name: other_names.get(name, f"--{name.replace('_', '-')}") for name in of_all}

    def told(found: re.Match[str]) -> str:
        """A parameter as the option that it is here, and other code as it is."""
        return flags.get(found[1], found[1])

    for panel, names in panels.items():
        for name in names:
            found = known[name]
            shape = found.shape() | {"help": _CODE.sub(told, found.help), "panel": panel}
            if isinstance(shape.get("type"), GroupedNumbers):
                default = "" if found.default is None else f" {found.default:g} by default."
                shape["help"] += f"{default} GROUP=NUMBER sets it for one group; may be given several times."
            else:  # numbers by group have their default in the help
                shape["default"] = found.default
            flag = flags[name]
            # a flag that is on by default needs a way to switch it off
            is_on = shape.get("is_flag") and found.default
            yield _made(name, (f"{flag}/--no-{flag[2:]}" if is_on else flag,), shape)


@cache
def _parameters_of(estimator: str) -> dict[str, _Parameter]:
    """The parameters of an estimator by name, without an import of its module."""
    defaults: dict[str, Any] = {}
    told: dict[str, tuple[str, str]] = {}
    # the nearest class comes first and wins, as Python's own look-up does
    for tree in _classes(*estimator.split(":")):
        for statement in tree.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                defaults.setdefault(statement.target.id, statement.value)
        for entry in parameter_entries(ast.get_docstring(tree)):
            text = _FOR_PYTHON.sub("", " ".join(entry["text"].split())).strip()
            if '"' not in entry["type"]:  # where there are words to choose from, all is said of them
                text = _SENTENCE.split(text)[0]
            for name in entry["names"].split(", "):
                told.setdefault(name, (entry["type"], text))
    return {
        name: _Parameter(_literal(value), *told[name])
        for name, value in defaults.items()
        if name in told and _literal(value) is not MISSING
    }


def _classes(module: str, name: str) -> Iterator[ast.ClassDef]:
    """The source of a class, and of those of this package that it derives from, nearest first."""
    tree = _parsed(module)
    found = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name), None)
    if found is None:
        return
    yield found
    imported = {
        alias.asname or alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    # Bases are names, perhaps with type arguments. Those of other packages, such as scikit-learn, have no
    # parameters of ours.
    for base in found.bases:
        if isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            source = imported.get(base.id, module)
            if source.partition(".")[0] in (module.partition(".")[0], "structune"):
                yield from _classes(source, base.id)


@cache
def _parsed(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None, module
    return ast.parse(Path(str(spec.origin)).read_text(encoding="utf-8"))


def _literal(node: Any) -> Any:
    """The value of a default; names of numbers stand in the class's own module, and are not shown."""
    # "lambda" or a call is no default that an option could have
    try:
        return ast.literal_eval(node) if node is not None else MISSING
    except ValueError:
        return None if isinstance(node, ast.Name) else MISSING
