"""``structune warm``."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from numba.core import event

import structune.kernels
from structune.errors import DataError
from structune.kernels.jit import machine_code, make_writable, whole_cache
from structune.kinds import find_kind, kinds
from structune.running.progress import Bars


def run(words: Sequence[str] | None) -> None:
    """Compile the kernels of these model types, or of all."""
    # by the function, as the segments of taggers have the kernels of taggers
    rooms = {warm: word for word, warm in _rooms(words).items()}  # some kinds share theirs
    structune.kernels.on_first_compilation = None  # bars show what is compiled
    folder = _cache()
    before, start = set(folder.rglob("*")), time.perf_counter()
    bars = Bars()
    try:
        with event.install_listener("numba:compile", _Compiling(bars)):
            for done, (warm, word) in enumerate(rooms.items()):
                bars.show_whole("warm", done / len(rooms), word)
                began = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # these models are thrown away
                    warm()
                bars.print(f"{word}: {time.perf_counter() - began:.0f} s")
    finally:
        bars.stop()
    kept = machine_code()
    there = len(kept & before)
    click.echo(
        f"Compiled {len(kept) - there} functions in {time.perf_counter() - start:.0f} s; "
        f"{there} were compiled before. Folder: {folder}"
    )


def _rooms(words: Sequence[str] | None) -> dict[str, Callable[[], None]]:
    """Functions that compile the kernels of each model type."""
    known = [kind.word for kind in kinds().values() if kind.task]
    asked = {word: find_kind(word) for word in words or known}
    for word, kind in asked.items():
        if kind is None or not kind.task:
            raise DataError(f"no such model type: {word!r}. Choose from {', '.join(known)}")
    return {kind.word: kind.make_task().warm for kind in asked.values() if kind}


def _cache() -> Path:
    folder = whole_cache()
    if folder is None:
        setting = os.environ["STRUCTUNE_CACHE"]
        raise DataError(
            f"STRUCTUNE_CACHE={setting} turns off the cache of compiled code; set it to a folder, or unset it"
        )
    try:
        make_writable(folder)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be written ({error.strerror}); set STRUCTUNE_CACHE to another folder"
        ) from error
    return folder


class _Compiling(event.Listener):
    """Shows which function is being compiled."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars

    def on_start(self, event: Any) -> None:
        self._bars.show_part("compile", None, event.data["dispatcher"].__name__)

    def on_end(self, event: Any) -> None:
        pass
