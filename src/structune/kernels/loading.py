"""Machine code from a cache faster than numba's own, by what numba does not promise of its inside.

Files have a checksum, and loading imports nothing that is needed to compile only. Where anything here fails,
`structune.kernels.jit` keeps machine code in numba's own cache.
"""

from __future__ import annotations

import hashlib
import pickle
from contextlib import suppress
from pathlib import Path

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys


class _Files(IndexDataCacheFile):
    """The files of a kernel's cache, each with a checksum: damaged machine code would run all the same."""

    def _save_index(self, overloads):
        self._write(self._index_path, overloads)

    def _load_index(self):
        return self._read(self._index_path) or {}

    def _save_data(self, name, data):
        self._write(self._data_path(name), data)

    def _load_data(self, name):
        return self._read(self._data_path(name))

    def _write(self, path, data):
        content = self._dump(data)
        # numba writes to a file beside it and renames that, so a reader never finds half a file
        with self._open_for_write(path) as file:
            file.write(_checksum(content) + content)

    def _read(self, path):
        """What a file holds, or None if there is none, or one of no use: it is compiled anew then.

        Of no use is a damaged one, and one with types that stand elsewhere in this version of structune.
        """
        try:
            whole = Path(path).read_bytes()
        except OSError:
            return None
        size = len(_checksum(b""))
        if _checksum(whole[size:]) != whole[:size]:
            return None
        try:
            return pickle.loads(whole[size:])
        except (ImportError, AttributeError):
            return None


def _checksum(content):
    return hashlib.sha256(content).digest()


class KernelCache(FunctionCache):
    """Loads machine code without what numba imports to compile, which takes longer than most predictions."""

    def __init__(self, function, folder):
        super().__init__(function)
        # numba also looks at the path and the date of the source: `folder` already stands for its content,
        # and another checkout of it, or the same release installed again, needs no other machine code
        self._cache_path = str(folder)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, None)

    def load_overload(self, sig, target_context):
        # numba's own way first refreshes its target, which loads all that it needs to compile
        try:
            rtsys.initialize(target_context)  # counts references to arrays
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # of another release of numba, perhaps
            return super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        with suppress(OSError):  # what cannot be kept, on a full disk, can be used all the same
            super().save_overload(sig, data)
