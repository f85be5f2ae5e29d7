"""Public modules by the names that they had before there were rooms; they go with the next release."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_KINDS = ("tagging", "rna", "alignment", "genes", "ranking", "flat", "trees", "stocks")
_HOMES = {
    "formats": _KINDS,
    "metrics": (*_KINDS, "learning"),
    "datasets": (*_KINDS, "files"),
    "features": ("tagging", "stocks"),
    "tuning": ("learning.tuning",),
    "tuning.majorize": ("learning",),
    "losses": ("learning",),
    "margin_losses": ("learning",),
    "risk": ("learning",),
    "penalties": ("learning",),
    "constraints": ("learning",),
    "solvers": (),
    "solvers.l2": ("learning",),
    "solvers.solution": ("learning",),
    "solvers.bundle": ("learning.solvers.bundle",),
    "solvers.cccp": ("learning.solvers.cccp",),
    "solvers.n_slack": ("learning.solvers.n_slack",),
    "solvers.saddle_point": ("learning.solvers.saddle_point",),
    "solvers.subgradient": ("learning.solvers.subgradient",),
    "executors": ("running",),
    "dask_executor": ("running",),
    "checkpoints": ("running",),
    "shard_files": ("files",),
    "model_files": ("files.models",),
    "structures": (),
    "structures.base": ("structure",),
    "structures.chain": ("tagging",),
    "structures.rna": ("rna",),
    "structures.rna_constraints": ("rna",),
    "structures.alignment": ("alignment",),
    "structures.ranking": ("ranking",),
    "structures.classes": ("flat",),
    "structures.linear": ("flat",),
    "structures.orf_graph": ("genes",),
    "estimators": (),
    "estimators.base": ("learning",),
    "estimators.ranker": ("ranking",),
    "estimators.folder_space": ("rna",),
    "estimators.gene_examples": ("genes",),
}


class _OldPaths(MetaPathFinder, Loader):
    """Finds modules by their old names: tables of names, each of which is looked up where it is now."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        known = package == "structune" and name in _HOMES
        return ModuleSpec(fullname, self, is_package=True) if known else None

    def exec_module(self, module: ModuleType) -> None:
        homes = _HOMES[module.__name__.partition(".")[2]]
        module.__doc__ = f"Its names are those of {', '.join(homes) or 'modules below it'} now."
        module.__getattr__ = _found_in(module.__name__, homes)  # type: ignore[method-assign]
        module.__dir__ = lambda: _names(homes)  # type: ignore[method-assign]


def with_old_names(module: str, own: Callable[[str], Any]) -> Callable[[str], Any]:
    """The names that a module has, and those that it had before, which are of kinds now."""
    old = _found_in(module, _KINDS, stacklevel=3)

    def get(name: str) -> Any:
        try:
            return own(name)
        except AttributeError:
            return old(name)

    return get


def _found_in(module: str, homes: Sequence[str], stacklevel: int = 2) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if name == "__all__":
            return _names(homes)
        for home in homes if not name.startswith("_") else ():
            now = import_module(f"structune.{home}")
            if name in getattr(now, "__all__", vars(now)):
                text = (
                    f"{module}.{name} is structune.{home}.{name} now; the old name goes with the next release"
                )
                warnings.warn(text, DeprecationWarning, stacklevel)
                return getattr(now, name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


def _names(homes: Sequence[str]) -> list[str]:
    found = [import_module(f"structune.{home}") for home in homes]
    return sorted({name for now in found for name in getattr(now, "__all__", ())})


def install() -> None:
    """Let old names be imported."""
    if not any(isinstance(finder, _OldPaths) for finder in sys.meta_path):
        sys.meta_path.append(_OldPaths())
