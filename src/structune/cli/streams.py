"""Standard input and output, and text that is written as it comes."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


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
    return gzip.open if output.lower().endswith(".gz") else open


def write_texts(file: IO[bytes], texts: Iterable[str]) -> None:
    """Write one after the other, as they come."""
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
