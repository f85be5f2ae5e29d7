"""What there is of memory, as Linux tells it."""

import pytest

from structune.errors import DataError
from structune.running import memory


def test_what_is_available(tmp_path, monkeypatch):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_LIMITS", [(write("max", "max\n"), write("current", "5\n"))])
    assert memory.available_memory() is None
    memory.require_memory(1e30, "structures")  # nobody knows
    write("meminfo", "MemTotal:  16 kB\nMemAvailable:   8 kB\n")
    assert memory.available_memory() == 8192
    write("max", "1005\n")
    assert memory.available_memory() == 1000
    memory.require_memory(2000, "small things")
    with pytest.raises(DataError, match=r"9 bases need 2\.0 GB of memory, found 0\.0 GB available"):
        memory.require_memory(2e9, "9 bases")
