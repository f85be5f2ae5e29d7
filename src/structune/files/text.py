"""Open the sources that users pass: paths and file objects, binary or text, compressed or not."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, Any, Self

from structune.errors import DataError
from structune.files.looks_like import HEAD, named_by_look

_BUFFER = 1 << 16
_MOST_LINE = 1 << 30  # bytes: the longest chromosomes with a line to themselves have about as many
_MOST_XZ = 1 << 28  # bytes of memory: files may ask for gigabytes, and xz -9 asks for 65 MB
_FEW_PACKED = 1 << 8  # bytes of bzip2, xz or Zstandard at a time
_MOST_UNPACKED, _MOST_RATIO = 1 << 28, 250  # of compressed files: text is seldom packed to less than a 50th


def unpacked(source: IO[bytes], name: str, start: bytearray | None = None) -> io.BufferedReader:
    """The uncompressed content of a binary file from its current position; the file stays open.

    The first few thousand bytes are also appended to `start` as they are read.

    Reading raises `DataError` for lines that are too long, and for files that expand so much that they must
    be malicious, before they fill the memory.
    """
    return io.BufferedReader(_Unpacked(source, name, bytearray() if start is None else start), _BUFFER)


def _bzip2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_XZ)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise DataError(
            "the file is compressed by Zstandard: pip install zstandard, or unpack the file"
        ) from None
    return zstandard.ZstdDecompressor().decompressobj()


class _Frames:
    """Reads compressed frames; the readers of the libraries accept truncated frames or bytes behind them."""

    def __init__(self, begin: Callable[[], Any], file: IO[bytes]) -> None:
        self._file: Any = file
        self._begin, self._frame, self._packed, self._data, self._at = begin, begin(), b"", b"", 0

    def read1(self, size: int) -> bytes:
        while self._at >= len(self._data):
            self._packed = self._packed or self._file.read1(_FEW_PACKED)
            if self._frame.eof:
                if not self._packed:
                    return b""
                self._packed = self._packed.lstrip(b"\0")  # padding, as xz allows
                if not self._packed:
                    continue
                self._frame = self._begin()
            if not self._packed:
                raise EOFError("it is truncated")
            # a few bytes may unpack to megabytes
            self._data, self._at = self._frame.decompress(self._packed), 0
            self._packed = self._frame.unused_data
        data = self._data[self._at : self._at + size]
        self._at += len(data)
        return data


_COMPRESSIONS: tuple[tuple[bytes, str, Callable[[IO[bytes]], Any]], ...] = (  # by their first bytes
    (b"\x1f\x8b", "gzip", lambda file: gzip.GzipFile(fileobj=file)),
    *((b"BZh%d" % level, "bzip2", partial(_Frames, _bzip2)) for level in range(1, 10)),
    (b"\xfd7zXZ\x00", "xz", partial(_Frames, _xz)),
    (b"\x28\xb5\x2f\xfd", "Zstandard", partial(_Frames, _zstandard)),
)


class _Unpacked(io.RawIOBase):
    """The bytes of a binary file, unpacked if they are compressed, within limits of lines and sizes."""

    def __init__(self, source: IO[bytes], name: str, start: bytearray) -> None:
        self._name, self._packed, self._start = name, _Rest(source), start
        binary = io.BufferedReader(self._packed, _BUFFER)
        self._file: Any = binary
        self._compression = ""
        for magic, compression, opened in _COMPRESSIONS:
            if self._packed.head == magic:
                with self._named():
                    self._compression, self._file = compression, opened(binary)
        self._size, self._n_lines, self._line = 0, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._named() if self._compression else nullcontext():
            data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        self._start += data[: max(0, HEAD - len(self._start))]
        self._check(data)
        return len(data)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Add the name of the file to errors of a damaged file."""
        try:
            yield
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from None
        except Exception as error:  # each library has its own
            if isinstance(error, OSError) and error.errno is not None:
                raise
            if "limit exceeded" in str(error):
                told = f"needs more than {_MOST_XZ // 10**6} MB of memory. Unpack it first"
                raise DataError(f"{self._name}: the {self._compression} file {told}") from None
            raise DataError(f"{self._name}: the {self._compression} file is damaged ({error})") from error

    def _check(self, data: bytes) -> None:
        # the length of the line that has not ended yet, over the pieces that are read
        end = max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._line = len(data) - 1 - end + (self._line if end < 0 else 0)
        self._n_lines += data.count(b"\n")
        self._size += len(data)
        if self._line > _MOST_LINE:
            raise DataError(
                f"{self._name}:{self._n_lines + 1}: the line has more than {_MOST_LINE:,} bytes; "
                "break it into several lines"
            )
        if self._size > max(_MOST_UNPACKED, _MOST_RATIO * self._packed.size):
            raise DataError(
                f"{self._name}: {self._packed.size:,} bytes of {self._compression} unpack to more than "
                f"{self._size:,}, over {_MOST_RATIO} times as many. If you trust the file, unpack it first"
            )


class _Rest(io.RawIOBase):
    """A binary file object from its current position; closing this wrapper leaves the file open."""

    def __init__(self, source: IO[bytes]) -> None:
        # byte by byte: a pipe may have no more for long
        self.head, magics = b"", [magic for magic, *_ in _COMPRESSIONS]
        while any(len(magic) > len(self.head) and magic.startswith(self.head) for magic in magics):
            if not (byte := source.read(1)):
                break
            self.head += byte
        self.size = 0
        self._next = self.head
        self._read = getattr(source, "read1", source.read)  # of a pipe what there is

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # the bytes that told how it is compressed come first
        data, self._next = self._next[: len(buffer)], self._next[len(buffer) :]
        if not data:
            data = self._read(len(buffer))
        buffer[: len(data)] = data
        self.size += len(data)
        return len(data)


Source = str | os.PathLike[str] | IO[Any]
_ENDINGS = (".gz", ".bz2", ".xz", ".zst")


def without_compression(name: str) -> str:
    """The name of a file without .gz, .bz2, .xz or .zst."""
    ending = next(filter(name.lower().endswith, _ENDINGS), "")
    return name[: len(name) - len(ending)]


def is_gzip(name: str) -> bool:
    """Whether a file of that name is written as gzip; other compressions are refused."""
    if name.lower().endswith(_ENDINGS[1:]):
        raise DataError(f"{name}: files can be written as .gz, or without compression. Choose another name.")
    return name.lower().endswith(".gz")


_BOM = b"\xef\xbb\xbf"


def source_name(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", "<input>")
    return "<stdin>" if name == 0 else str(name)  # as a descriptor it has no name


def line_blocks(source: Source, n_bytes: int, universal: bool = False) -> Iterator[bytes]:
    """Blocks of whole uncompressed lines with their line ends, of about `n_bytes` bytes each.

    Parameters
    ----------
    source : path or file object
    n_bytes : int
    universal : bool
        In binary files ``\\r`` ends a line, too, and all line ends become ``\\n``.
    """
    name, is_first = source_name(source), True
    with _opened(source) as file:
        opened: Any = file if _is_text(file) else (_decoded if universal else unpacked)(file, name)
        while block := opened.read(n_bytes) + opened.readline():
            if isinstance(block, str):  # `codecs.open` ends lines at characters at which none of ours ends
                while not block.endswith(("\n", "\r")) and (more := opened.readline()):
                    block += more
            data = block if isinstance(block, bytes) else _encoded(block)
            yield data.removeprefix(_BOM) if is_first else data
            is_first = False
            del block, data  # before the next is read


def save(target: Source, text: str) -> None:
    """Write UTF-8, compressed by gzip where the path ends in ``.gz``."""
    data = text.encode()
    if isinstance(target, str | os.PathLike):
        Path(target).write_bytes(gzip.compress(data) if is_gzip(os.fspath(target)) else data)
        return
    try:
        target.write(text)
    except TypeError:  # a binary file
        target.write(data)


class Lines:
    """Iterator over the numbered lines of a source, without leading and trailing white space.

    Lines are read on demand. Bytes that are not UTF-8 become lone surrogates, which readers accept in
    comments and refuse elsewhere.

    Parameters
    ----------
    source : path or file object
    strip : bool
        Otherwise the lines are whole, line ends included, until `strip` is called.
    """

    def __init__(self, source: Source, strip: bool = True) -> None:
        self.name, self._start = source_name(source), bytearray()
        self._numbered: Iterator[tuple[int, str]] = enumerate(_texts(source, self.name, self._start), 1)
        if strip:
            self.strip()

    def strip(self) -> None:
        """Strip white space from the lines that have not been read yet."""
        self._numbered = ((number, text.strip()) for number, text in self._numbered)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self._numbered

    def filled(self) -> Iterator[tuple[int, str]]:
        return ((number, text) for number, text in self._numbered if text)

    def head(self, count: int) -> Iterator[str]:
        """Look at the first `count` lines, which will still be read."""
        # what is looked at goes into a list that stands before the rest
        seen: list[tuple[int, str]] = []
        rest, self._numbered = self._numbered, chain(seen, self._numbered)
        for line in islice(rest, count):
            seen.append(line)
            yield line[1]

    def checked(self, check: Callable[[Lines], Iterator[tuple[int, str]]]) -> Self:
        """The lines as `check`, which takes and yields them, returns them."""
        return self._with(check(self._with(self._numbered)))

    @property
    def is_empty(self) -> bool:
        """Whether only white space, or nothing, has been read so far."""
        return not self._start.strip()

    @contextmanager
    def told_by_look(self, read: Collection[str], advice: str | Mapping[str, str] = "") -> Iterator[None]:
        """Extend errors from the block by the detected format, if it is none of those in `read`.

        `advice` may map formats to texts; "" is for all others.
        """
        try:
            yield
        except DataError as error:
            default = f"give {' or '.join(read)}"
            told = {"": default, **advice} if isinstance(advice, Mapping) else advice or default
            named = named_by_look(error, bytes(self._start), read, told)
            if named is error:
                raise
            raise named from error

    def pieces(self, is_first: Callable[[str], bool]) -> Iterator[Self]:
        """Split the lines into pieces, each of which starts where `is_first` is true."""
        piece: list[tuple[int, str]] = []
        for number, text in self._numbered:
            if is_first(text) and piece:
                yield self._with(piece)
                piece = []
            piece.append((number, text))
        if piece:
            yield self._with(piece)

    def _with(self, numbered: Iterable[tuple[int, str]]) -> Self:
        part = copy(self)
        part._numbered = iter(numbered)
        return part

    def refuse(self, number: int, message: str) -> DataError:
        """The error for a line, with its number."""
        return DataError(f"{self.name}:{number}: {message}")

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        """Add the number of the line to errors from the block."""
        try:
            yield
        except DataError as error:
            raise self.refuse(number, str(error)) from error


def shown(text: str) -> str:
    """A text in quotes for error messages; long texts are cut."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def plural(n: int, one: str, several: str = "") -> str:
    """A number and its noun: "1 base", "1,200 bases"; `several` where the plural is not `one` and an s."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def some_of(names: Sequence[str], most: int, n: int | None = None) -> str:
    """The first `most` names, and the number of the others; `n` is the total, by default that of `names`."""
    n_more = (len(names) if n is None else n) - most
    return ", ".join(names[:most]) + (f", and {n_more:,} more" if n_more > 0 else "")


def header_name(header: str, count: int) -> str:
    """The first word after ``>`` of a FASTA header, or the number of the record if there is none."""
    words = header[1:].split(maxsplit=1)
    return words[0] if words else str(count)


def header_description(header: str) -> str:
    """The text after the first word of a FASTA header, with ``?`` for bytes that are not UTF-8."""
    words = header[1:].split(maxsplit=1)
    return words[1].rstrip().encode(errors="replace").decode() if len(words) > 1 else ""


def one_word(text: str) -> str:
    """A text with white space replaced by ``_``."""
    return "_".join(text.split())


def distinct(names: Iterable[str]) -> list[str]:
    """Make names distinct by adding numbers to repeated ones."""
    given = list(names)
    taken, seen, out = set(given), set[str](), list[str]()
    for name in given:
        free = (f"{name}_{k}" for k in count(2))
        out.append(name if name not in seen else next(other for other in free if other not in taken))
        seen.add(name)
        taken.add(out[-1])
    return out


def _opened(source: Source) -> AbstractContextManager[IO[Any]]:
    return Path(source).open("rb") if isinstance(source, str | os.PathLike) else nullcontext(source)


def _texts(source: Source, name: str, start: bytearray) -> Iterator[str]:
    with _opened(source) as file:
        texts = _split(file, start) if _is_text(file) else _decoded(file, name, start)
        for number, text in enumerate(texts):
            yield text if number else text.removeprefix("\ufeff")


def _split(source: Iterable[str], start: bytearray) -> Iterator[str]:
    """Lines of a text file; a lone carriage return ends a line, too."""
    for text in source:
        if len(start) < HEAD:
            start += _encoded(text)
        yield from io.StringIO(text, newline=None) if "\r" in text else (text,)


def _is_text(source: IO[Any]) -> bool:
    return isinstance(source.read(0), str)


def _decoded(source: IO[bytes], name: str, start: bytearray | None = None) -> io.TextIOWrapper:
    return io.TextIOWrapper(unpacked(source, name, start), encoding="utf-8", errors="surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
