"""Files of endless lines, and of gzip that unpacks to far more than it is."""

import bz2
import codecs
import gzip
import io
import lzma
import sys

import pytest

from structune.errors import DataError
from structune.files import text
from structune.files.text import Lines, line_blocks, save

READERS = {
    "lines": lambda source: [line for _, line in Lines(source)],
    "blocks": lambda source: list(line_blocks(source, 1000)),
    "blocks of lines of any end": lambda source: list(line_blocks(source, 1000, universal=True)),
}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(text, "_MOST_LINE", 100_000)
    monkeypatch.setattr(text, "_MOST_UNPACKED", 200_000)


@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
@pytest.mark.parametrize(("pack", "end"), [(bytes, b"\r\n"), (gzip.compress, b"\n"), (bytes, b"\r")])
def test_a_line_that_is_too_long_is_named(tmp_path, read, pack, end):
    path, begun = tmp_path / "long.txt", b"a" + end + b"b" + end
    path.write_bytes(pack(begun + b"x" * 100_000 + end))
    read(path)
    path.write_bytes(pack(begun + b"x" * 300_000 + end))
    place = "1" if end == b"\r" else "3"
    with pytest.raises(DataError, match=rf"long\.txt:{place}: the line has more than 100,000 bytes"):
        read(path)


@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
def test_gzip_that_unpacks_to_far_more_is_refused(tmp_path, read):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"a\n" * 100_000))
    read(path)  # small, whatever it is packed to
    path.write_bytes(gzip.compress(b"a\n" * 10_000_000))
    with pytest.raises(DataError, match=r"bomb\.gz: [0-9,]+ bytes of gzip unpack to"):
        read(path)


def zstd(data):
    return pytest.importorskip("zstandard").compress(data)


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, zstd], ids=["gz", "bz2", "xz", "zst"]
)
def test_compressed_files(tmp_path, pack, monkeypatch):
    """Whatever their name is; damaged ones are named, and no file is written with an ending that lies."""
    path, packed = tmp_path / "a.txt", pack(b"a\nb\n" * 1000)
    path.write_bytes(packed)
    assert [line for _, line in Lines(path)] == ["a", "b"] * 1000
    path.write_bytes(packed + packed)
    assert len([*Lines(path)]) == 4000
    for damaged in (packed[:-6], packed + b"junk"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"a\.txt: the \w+ file is damaged"):
            list(Lines(path))
    path.write_bytes(b"BZhou\ta\n")  # what begins like one and is none
    assert [line for _, line in Lines(path)] == ["BZhou\ta"]
    if pack is zstd:
        path.write_bytes(packed)
        monkeypatch.setitem(sys.modules, "zstandard", None)
        with pytest.raises(DataError, match=r"a\.txt: the file is compressed by Zstandard: pip install"):
            list(Lines(path))
    for ending in ("bz2", "xz", "zst"):
        with pytest.raises(DataError, match="can be written as"):
            save(tmp_path / f"a.{ending}", "a")


def test_xz_that_asks_for_much_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_MOST_XZ", 1 << 20)
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"a\n"))
    with pytest.raises(DataError, match=r"a\.xz: the xz file needs more than 1 MB of memory"):
        list(Lines(tmp_path / "a.xz"))


def test_gzip_that_unpacks_to_much_is_read_where_it_is_large_itself():
    numbers = b"".join(b"%d\n" % (k * k) for k in range(100_000))
    assert b"".join(line_blocks(io.BytesIO(gzip.compress(numbers)), 1000)) == numbers


def test_no_more_is_unpacked_than_shows_what_a_file_is(monkeypatch):
    seen = []

    class Counted(gzip.GzipFile):
        def read1(self, size=-1):
            seen.append(super().read1(size))
            return seen[-1]

    monkeypatch.setattr(gzip, "GzipFile", Counted)
    with pytest.raises(DataError, match="bytes of gzip"):
        list(line_blocks(io.BytesIO(gzip.compress(b"a\n" * 10_000_000)), 1000))
    assert 200_000 < sum(map(len, seen)) < 10_000_000


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_blocks_of_text_end_where_lines_end(tmp_path, size):
    path, text = tmp_path / "a.txt", "a\u2028b c\x0cd\ne\x85f\n" * 20 + "g\u2028h"
    path.write_text(text)
    with path.open() as plain, codecs.open(str(path), encoding="utf-8") as other:
        for source in (plain, other, path):
            blocks = list(line_blocks(source, size))
            assert b"".join(blocks).decode() == text
            assert all(block.endswith(b"\n") for block in blocks[:-1])
