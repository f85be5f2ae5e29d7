"""The one way kernels are compiled, and where their machine code is kept; `loading` says how."""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs
from numba.core import event

import structune.kernels

# not True: that lets the compiler assume that no nan or inf exists, and range checks vanish
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
_GROUND = Path(__file__).parent
_in_use = set[Path]()  # folders of the kernels that are imported


class _FirstCompilation(event.Listener):
    """Calls what is to be called before the first kernel is compiled."""

    def on_start(self, event):
        call, structune.kernels.on_first_compilation = structune.kernels.on_first_compilation, None
        if call is not None:
            call()

    def on_end(self, event):
        pass


event.register("numba:compile", _FirstCompilation())


def _fingerprint(sources: Path) -> str:
    # numba does not notice a change in a kernel that another file calls: a room's kernels count as one,
    # and those of the ground with them
    digest = hashlib.sha256()
    for source in sorted({*_GROUND.glob("*.py"), *sources.glob("*.py")}):
        digest.update(source.read_bytes())
    config: Any = numba.config
    versions = numba.__version__, np.__version__, platform.python_version(), platform.machine()
    for setting in (*versions, f"bounds checks: {config.BOUNDSCHECK}"):
        digest.update(setting.encode())
    return digest.hexdigest()[:16]


def whole_cache() -> Path | None:
    """Folder of all compiled kernels, of other versions too, or None if it is turned off.

    The environment variable ``STRUCTUNE_CACHE`` moves it; ``STRUCTUNE_CACHE=off`` turns it off.
    """
    setting = os.environ.get("STRUCTUNE_CACHE", "")
    if setting.lower() == "off":
        return None
    base = Path(setting) if setting else Path(platformdirs.user_cache_dir("structune", appauthor=False))
    return (base / "kernels").absolute()  # the process may change its folder


def make_writable(folder: Path) -> None:
    """Make a folder, unless it is there; raise `OSError` if nothing can be written to it."""
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()


@cache
def cache_folder(sources: Path) -> Path | None:
    """Folder of the compiled kernels of one folder of sources, or None where nothing can be kept."""
    whole = whole_cache()
    if whole is None:
        return None
    # versions have folders of their own: programs of two versions do not write over each other's files
    folder = whole / _fingerprint(sources)
    try:
        make_writable(folder)
    except OSError:
        return None
    return folder


def machine_code() -> set[Path]:
    """The files that hold the compiled kernels, of one combination of types each, of what is imported."""
    return {path for folder in _in_use for path in folder.rglob("*.nbc")}


def kernel(function):
    """Compile lazily, without the GIL, once for every combination of argument types."""
    return _compile(function)


def part_of_kernel(function):
    """A kernel that only kernels call, once a row: in line, so that views of arrays cost nothing."""
    return _compile(function, forceinline=True, no_cpython_wrapper=True)


def bare_kernel(function):
    """A kernel that makes no array and returns none: references to arrays are not counted.

    Counting takes longer than the work itself where a loop reads many arrays. An array that such a kernel
    returned would be freed too early.
    """
    return _compile(function, _nrt=False)


def part_of_bare_kernel(function):
    """A bare kernel that only kernels, of any kind, call: compiled in line."""
    return _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def part_of_one_kernel(function):
    """A bare kernel that a kernel calls in one place: compiled there, and not by itself."""
    return _compile(function, _nrt=False, inline="always", no_cpython_wrapper=True)


def _compile(function, **options):
    # nothing calls kernels from C, and wrappers for tuples of arrays take long to compile
    options |= {"no_cfunc_wrapper": True, "nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    folder = cache_folder(Path(function.__code__.co_filename).parent)
    if folder is None:
        return numba.njit(**options)(function)
    _in_use.add(folder)
    compiled: Any = numba.njit(**options)(function)
    config: Any = numba.config
    previous, config.CACHE_DIR = config.CACHE_DIR, str(folder)  # read once, here
    try:
        try:
            from structune.kernels.loading import KernelCache

            compiled._cache = KernelCache(function, folder)
        except Exception:  # of a numba that has changed inside: by its own cache, which loads more slowly
            compiled.enable_caching()
    finally:
        config.CACHE_DIR = previous
    return compiled
