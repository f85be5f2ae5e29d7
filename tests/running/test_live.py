"""Work on items as they come."""

import threading
from itertools import count

import pytest

from structune.running.live import live_map


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
        if thread.name.endswith("(serve)"):
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
