"""The bytes of a source, unpacked as they are read, without lines and gzip files that nobody can mean."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from structune.errors import DataError
from structune.files.looks_like import HEAD

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER = 1 << 16
_MOST_LINE = 1 << 30  # bytes: the longest chromosomes with a line to themselves have about as many
_MOST_UNPACKED, _MOST_RATIO = 1 << 28, 250  # of gzip files: text is seldom packed to less than a 50th


def unpacked(source: IO[bytes], name: str, start: bytearray | None = None) -> io.BufferedReader:
    """What a binary file holds from where it stands, uncompressed; the file stays open.

    Its first few thousand bytes go into `start`, too, as they are read.

    Reading it raises `DataError` for a line that is too long, and for a gzip file that unpacks to so much
    more than it is that it must be made for that: before they take the memory that they would.
    """
    return io.BufferedReader(_Unpacked(source, name, bytearray() if start is None else start), _BUFFER)


@contextmanager
def whole_gzip(name: str) -> Iterator[None]:
    """Let errors of a damaged gzip file name it."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{name}: found a damaged gzip file ({error})") from error


class _Unpacked(io.RawIOBase):
    """Counts what it gives."""

    def __init__(self, source: IO[bytes], name: str, start: bytearray) -> None:
        self._name, self._packed, self._start = name, _Rest(source), start
        binary = io.BufferedReader(self._packed, _BUFFER)
        is_packed = self._packed.head == _GZIP_MAGIC
        self._file: Any = gzip.GzipFile(fileobj=binary) if is_packed else binary
        self._size, self._n_lines, self._line = 0, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        self._start += data[: max(0, HEAD - len(self._start))]
        self._check(data)
        return len(data)

    def _check(self, data: bytes) -> None:
        end = max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._line = len(data) - 1 - end + (self._line if end < 0 else 0)
        self._n_lines += data.count(b"\n")
        self._size += len(data)
        if self._line > _MOST_LINE:
            raise DataError(
                f"{self._name}:{self._n_lines + 1}: found a line of more than {_MOST_LINE:,} bytes, expected "
                "shorter ones: break it into several"
            )
        if self._size > max(_MOST_UNPACKED, _MOST_RATIO * self._packed.size):
            raise DataError(
                f"{self._name}: found {self._packed.size:,} bytes of gzip that unpack to more than "
                f"{self._size:,}, expected at most {_MOST_RATIO} times as many: unpack the file first, "
                "if it is what it should be"
            )


class _Rest(io.RawIOBase):
    """A binary file object from where it stands, under a cover that can be closed without closing it."""

    def __init__(self, source: IO[bytes]) -> None:
        self.head = source.read(len(_GZIP_MAGIC))
        self.size = 0
        self._next = self.head
        self._read = getattr(source, "read1", source.read)  # of a pipe what there is

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._next = self._next, b""
        if len(data) != 1:  # a file of one byte is at its end
            data += self._read(len(buffer) - len(data))
        buffer[: len(data)] = data
        self.size += len(data)
        return len(data)
