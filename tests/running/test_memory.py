"""What there is of memory, as Linux tells it, and who may have it."""

import threading

import pytest

from structune.errors import DataError
from structune.running import memory


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system that tells nothing but what is written into it."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    unlimited = (resource.RLIM_INFINITY,) * 2
    monkeypatch.setattr(resource, "getrlimit", lambda _: unlimited)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def test_what_nobody_tells_is_no_reason_to_refuse(system):
    assert memory.available_memory() is None
    memory.require_memory(1e30, "structures", "fewer")
    with memory.held_memory(1e30, "structures", "fewer"):
        pass


def test_the_least_of_what_limits(system, monkeypatch):
    system(meminfo="MemTotal:  16 kB\nMemAvailable:   8 kB\n")
    assert memory.available_memory() == 8192
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 50, 1 << 50))
    assert memory.available_memory() == 8192
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1, 1))
    assert memory.available_memory() == 0


@pytest.mark.parametrize(
    ("groups", "folder", "names", "cached"),
    [
        ("0::/a/b\n", "", ("max", "current"), ""),
        ("5:cpu,memory:/a/b\n0::/\n", "memory__", ("limit_in_bytes", "usage_in_bytes"), "total_"),
    ],
)
def test_control_groups_and_those_around_them(system, groups, folder, names, cached):
    system(meminfo="MemAvailable: 8 kB\n", groups=groups)
    limit, used = (f"{folder}a__memory.{name}" for name in names)
    files = f"{cached}inactive_file 20\n{cached}active_file 10\n"
    system(**{limit: "max\n", used: "70\n", f"{folder}a__memory.stat": files})
    assert memory.available_memory() == 8192
    system(**{limit: "1000\n"})
    assert memory.available_memory() == 960  # files that were read can be forgotten


@pytest.mark.parametrize("meminfo", ["MemTotal: 16 kB\n", "MemAvailable: much\n"])
def test_what_the_system_tells_in_no_known_words_is_not_told(system, meminfo):
    system(meminfo=meminfo, groups="no group\n")
    assert memory.available_memory() is None


def test_what_does_not_fit_is_refused(system):
    system(meminfo="MemAvailable: 1000000 kB\n")
    memory.require_memory(1e9, "10 bases", "fewer")
    wanted = r"9 bases need 2\.0 GB of memory, found 1\.0 GB available: expected fewer"
    with pytest.raises(DataError, match=wanted):
        memory.require_memory(2e9, "9 bases", "fewer")
    with pytest.raises(DataError, match=wanted), memory.held_memory(2e9, "9 bases", "fewer"):
        pass
    with memory.held_memory(1e9, "10 bases", "fewer"):  # what was refused is not held
        pass


def test_a_thread_waits_for_what_another_holds(system):
    system(meminfo="MemAvailable: 1000000 kB\n")
    done = []

    def work():
        with memory.held_memory(6e8, "b", "fewer"):
            done.append("b")

    thread = threading.Thread(target=work)
    with memory.held_memory(6e8, "a", "fewer"):
        thread.start()
        thread.join(0.2)
        done.append("a")
    thread.join(20)
    assert done == ["a", "b"]


def test_the_memory_of_a_batch_is_a_setting(monkeypatch):
    monkeypatch.delenv("STRUCTUNE_MEMORY", raising=False)
    assert memory.batch_memory() == 512_000_000
    monkeypatch.setenv("STRUCTUNE_MEMORY", "64")
    assert memory.batch_memory() == 64_000_000
    for wrong in ("", "0", "-1", "1.5", "much"):
        monkeypatch.setenv("STRUCTUNE_MEMORY", wrong)
        with pytest.raises(DataError, match="expected a whole number of megabytes"):
            memory.batch_memory()
