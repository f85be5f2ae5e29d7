"""Files without an end, of which nobody can read all before the first block."""

import io


class Endless(io.RawIOBase):
    """The chunks that a function of a rising number makes, one after the other."""

    name = "endless"

    def __init__(self, chunk):
        self._chunk, self._number, self._rest = chunk, 0, b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while len(self._rest) < len(buffer):
            self._rest += self._chunk(self._number)
            self._number += 1
        buffer[:], self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        return len(buffer)


def written_before_the_next(folder, items, n):
    """The items; after n of them there must be shards in the folder before more are given."""
    for number, item in enumerate(items):
        if number == n:
            assert list(folder.glob("shard-*.bin")), "found no shards, expected those of the first block"
        yield item


class Pipe(io.RawIOBase):
    """A text at a time, as it is asked for."""

    def __init__(self, texts):
        self.texts = texts

    def readable(self):
        return True

    def readinto(self, buffer):
        text = next(self.texts).encode()
        buffer[: len(text)] = text
        return len(text)
