"""Files that commands read and write: checks before the work starts, names, and standard streams."""

from __future__ import annotations

import gzip
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from structune.errors import DataError, StructuneError
from structune.files.text import is_gzip, without_compression

_PAGES = (".html", ".htm")
_LONGEST_NAME = 100
Format = TypeVar("Format")
T = TypeVar("T")


# --- checks before the work -------------------------------------------------------------------------------


def check_targets(
    files: Iterable[Path | None], plots: Iterable[Path | None], page: Path | None = None
) -> None:
    """Refuse, before the work starts, output files that cannot be written."""
    drawn = [path for path in plots if path is not None]
    # resolved, so that another spelling or a link to the same file is found
    written = set[Path]()
    for path in filter(None, [*files, *drawn, page]):
        if path.exists() and not path.is_file() and not path.is_dir():
            continue  # /dev/null, a terminal, a pipe: several may write there at a time
        if not os.access(path.parent, os.W_OK) or path.is_dir():
            raise DataError(f"{path}: cannot be written; give a file in a folder that exists and is writable")
        if path.resolve() in written:
            raise DataError(f"{path}: two outputs have this path; give each output its own file")
        written.add(path.resolve())
    for path in drawn:
        from structune.plots.figure import check_path

        check_path(path)
    if page is not None:
        from structune.html_reports import check_installed

        if page.suffix.lower() not in _PAGES:
            raise DataError(f"{page}: the name of a report must end in .html")
        check_installed()


def check_apart(sources: Iterable[str | Path | None], files: Iterable[Path | None]) -> None:
    """Refuse output files that are also read, by themselves or inside a folder."""
    # sources may also be words such as "pretrained" or "-", which are no files
    known = [Path(source) for source in sources if source is not None and os.path.exists(source)]
    read = [*known, *(path for folder in known if folder.is_dir() for path in folder.iterdir())]
    for path in filter(None, files):
        if path.exists() and any(path.samefile(source) for source in read):
            raise DataError(f"{path}: this file is also read; write to another file")


# --- names and formats ------------------------------------------------------------------------------------


class FileNames:
    """Makes distinct file names from the names of sequences."""

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        # no separators, no leading dots or dashes, which hide files or look like options
        stem = re.sub(r"[^\w.+=-]", "_", name)[:_LONGEST_NAME].lstrip(".-") or "_"
        while True:
            self._uses[stem.lower()] += 1  # there are file systems that do not tell the cases apart
            if (uses := self._uses[stem.lower()]) == 1:
                return stem
            stem = f"{stem}-{uses}"


def format_of(given: Format | None, output: Path | None, endings: Mapping[str, Format]) -> Format:
    """The format that was asked for, or that of the ending of the output's name, or the first one."""
    # what is asked for comes first; "a.ct.gz" has the format of "a.ct"
    if given is not None:
        return given
    name = "" if output is None else without_compression(output.name.lower())
    return endings.get(Path(name).suffix, next(iter(endings.values())))


def drawing_paths(path: Path | None, several: bool) -> Callable[[str], Path] | None:
    """Function that maps the name of a drawing to its file: `path`, or one file each for several."""
    if path is None:
        return None
    names = FileNames()
    return lambda name: path.with_stem(f"{path.stem}-{names(name)}") if several else path


# --- reading and writing ----------------------------------------------------------------------------------


class UntilError(Generic[T]):
    """Items up to the first that cannot be read; `check` raises its error."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._error: StructuneError | OSError | None = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return next(self._items)
        except (StructuneError, OSError) as error:
            self._error = error
            raise StopIteration from None

    def check(self) -> None:
        """Raise the error."""
        if self._error is not None:
            raise self._error


@contextmanager
def open_text(output: str) -> Iterator[IO[str]]:
    """Standard output for ``-``, or a file, compressed by gzip where its name ends in ``.gz``."""
    if output == "-":
        yield sys.stdout
    else:
        with _opener(output)(output, "wt", encoding="utf-8", errors="surrogateescape") as file:
            yield file


@contextmanager
def open_bytes(output: str) -> Iterator[IO[bytes]]:
    """The same for bytes."""
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with _opener(output)(output, "wb") as file:
            yield file


def _opener(output: str) -> Any:
    return gzip.open if is_gzip(output) else open


def write_texts(file: IO[bytes], texts: Iterable[str]) -> None:
    """Write texts one after the other, as they are computed."""
    for text in texts:
        file.write(text.encode())


def binary_source(file: str) -> Any:
    """Standard input for ``-``, or a path."""
    return sys.stdin.buffer if file == "-" else Path(file)


def standard_input() -> IO[bytes]:
    """Standard input, for a thread of its own to read.

    Not by the object that Python closes at its end: it would wait there for a thread that reads still.
    """
    if sys.__stdin__ is None or sys.stdin is not sys.__stdin__:
        return sys.stdin.buffer
    return open(sys.__stdin__.fileno(), "rb", closefd=False)
