"""What there is of memory, as Linux tells it, who may have it, and work that keeps within it."""

import threading
import time
import weakref
from itertools import count

import pytest

from structune.errors import DataError
from structune.running import memory
from structune.running.memory import live_map


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
    wanted = r"9 bases need 2\.0 GB of memory, but only 1\.0 GB are available: try fewer"
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
        with pytest.raises(DataError, match="give a whole number of megabytes"):
            memory.batch_memory()


def test_results_come_in_order_and_hold_all():
    for n_threads in (1, 4):
        found = list(live_map(range(200), lambda run: [k**2 for k in run], n_threads, int, 500, 7))
        assert [k for run in found for k in run] == [k**2 for k in range(200)]
        assert max(map(len, found)) <= 7
        assert all(sum(k**0.5 for k in run[:-1]) < 500 for run in found)


def test_nothing_waits_for_what_has_not_come():
    go_on = threading.Semaphore(1)

    def items():
        for k in range(5):
            assert go_on.acquire(timeout=30)
            yield k

    for k, run in enumerate(live_map(items(), list, 3, int, 100, 100)):
        assert run == [k]
        go_on.release()


def test_no_more_is_read_or_begun_than_is_needed():
    read, begun, go_on = count(), [], threading.Event()

    def work(run):
        begun.append(run)
        return run if run[0] == 0 else go_on.wait(30)

    results = live_map((next(read) for _ in range(1000)), work, 2, int, 10**6, 1)
    assert next(results) == [0]
    results.close()
    go_on.set()
    assert next(read) < 20
    assert len(begun) <= 4


def test_long_items_are_not_read_far_ahead():
    read, go_on = count(), threading.Event()
    items = (next(read) for _ in range(1000))
    results = live_map(items, lambda _: go_on.wait(30), 2, lambda _: 500, 1000, 1000)
    time.sleep(0.2)
    go_on.set()
    assert next(results)
    results.close()
    assert next(read) < 20


def test_what_comes_after_the_end_is_not_worked_on():
    come, begun = threading.Semaphore(1), []

    def items():
        for k in range(3):
            come.acquire()
            yield k

    results = live_map(items(), lambda run: begun.append(run) or run, 2, int, 10, 1)
    assert next(results) == [0]
    results.close()
    come.release()
    for thread in threading.enumerate():
        if thread.name.endswith("serve)"):
            thread.join(10)
    assert begun == [[0]]


def test_errors_come_after_the_results_before_them():
    def items():
        yield from range(10)
        raise OSError("damaged")

    seen = []
    with pytest.raises(OSError, match="damaged"):
        seen.extend(run for run in live_map(items(), list, 2, int, 3, 3))
    assert [k for run in seen for k in run] == list(range(10))

    def work(run):
        return 1 // (5 - run[0])

    with pytest.raises(ZeroDivisionError):
        list(live_map(range(10), work, 2, int, 1, 1))
    assert list(live_map([], work, 2, int, 1, 1)) == []
    for broken in ("size", "needed"):
        asked = {"size": int, "needed": float, broken: lambda item: 1 // (5 - item)}
        seen = []
        with pytest.raises(ZeroDivisionError):
            seen.extend(live_map(range(10), list, 2, most_size=1, most_items=1, **asked))
        assert seen == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("most", [1, 2])
def test_work_waits_for_the_memory_of_results_that_nobody_has_used(monkeypatch, most):
    tables = weakref.WeakSet()
    monkeypatch.setattr(memory, "available_memory", lambda: 70 + 100 * most)

    def work(run):
        tables.add(run)
        assert len(tables) <= most
        return run

    for run in live_map(range(6), lambda _: work(Table()), 3, lambda _: 1, 1, 1, lambda _: 100.0):
        time.sleep(0.02)  # a slow reader
        del run


class Table:
    """What takes memory as long as it is there."""


def test_nothing_is_begun_once_it_is_closed(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 150)
    begun = []
    results = live_map(range(100), lambda run: begun.append(run) or run, 2, int, 100, 1, lambda _: 100.0)
    assert next(results) == [0]  # and the next waits for its room
    results.close()
    for thread in threading.enumerate():
        if thread.name.endswith("serve)"):
            thread.join(30)
    assert begun == [[0]]
