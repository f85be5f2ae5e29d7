"""Names of files after those of what is in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

_LONGEST_NAME = 100
Format = TypeVar("Format")


class FileNames:
    """Names of files after those of sequences, no two the same."""

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        stem = re.sub(r"[^\w.+=-]", "_", name)[:_LONGEST_NAME].lstrip(".-") or "_"
        while True:
            self._uses[stem.lower()] += 1  # there are file systems that do not tell the cases apart
            if (uses := self._uses[stem.lower()]) == 1:
                return stem
            stem = f"{stem}-{uses}"


def format_of(given: Format | None, output: Path | None, endings: Mapping[str, Format]) -> Format:
    """The format that is asked for, or that of the ending of a file's name, or else the first."""
    if given is not None:
        return given
    name = "" if output is None else output.name.lower().removesuffix(".gz")
    return endings.get(Path(name).suffix, next(iter(endings.values())))


def drawing_paths(path: Path | None, several: bool) -> Callable[[str], Path] | None:
    """From the name of what is drawn to its file: the one asked for, or of several FILE-NAME each."""
    if path is None:
        return None
    names = FileNames()
    return lambda name: path.with_stem(f"{path.stem}-{names(name)}") if several else path
