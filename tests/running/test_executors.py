"""Executors: order, errors, and the counting of jobs."""

import pickle
import re
import threading
import time

import pytest

from structune.running.executors import ThreadExecutor, make_executor


def slowest_first(k):
    time.sleep(0.002 * (6 - k))
    return k * k


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_items(n_threads):
    executor = ThreadExecutor(n_threads)
    assert list(executor.map(slowest_first, range(6))) == [0, 1, 4, 9, 16, 25]
    assert list(executor.map(slowest_first, iter([5, 4]))) == [25, 16]  # again, and from an iterator
    assert list(executor.map(slowest_first, [])) == []


def test_threads_work_at_the_same_time():
    barrier = threading.Barrier(3, timeout=600)  # only one that hangs gets there
    assert len(list(ThreadExecutor(3).map(lambda _: barrier.wait(), range(3)))) == 3


def test_few_results_wait_at_a_time():
    started = []
    results = ThreadExecutor(2).map(started.append, range(20))
    next(results)
    time.sleep(0.05)
    assert len(started) <= 4


def fail_at_two(k):
    if k == 2:
        raise KeyError("shard 2")
    return k


@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_reach_the_caller_and_leave_the_executor_usable(n_threads):
    executor, done = ThreadExecutor(n_threads), []
    with pytest.raises(KeyError, match="shard 2"):
        done.extend(executor.map(fail_at_two, range(5)))
    assert list(executor.map(fail_at_two, [0, 1])) == [0, 1]


def test_executors_pickle_without_their_threads():
    executor = ThreadExecutor(2)
    list(executor.map(abs, [-1, -2, -3]))
    again = pickle.loads(pickle.dumps(executor))
    assert again.n_workers == 2
    assert list(again.map(abs, [-1, -2, -3])) == [1, 2, 3]


def test_jobs_are_counted_as_scikit_learn_does(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    assert ThreadExecutor().n_workers == 8
    expected = {None: 1, 1: 1, 3: 3, 20: 20, -1: 8, -2: 7, -8: 1, -100: 1}
    assert {n_jobs: make_executor(n_jobs).n_workers for n_jobs in expected} == expected


def test_no_jobs():
    for wrong in (0, 1.5, "2", [1]):
        expected = re.escape(f"n_jobs={wrong!r}: expected a positive number, or -1")
        with pytest.raises(ValueError, match=expected):
            make_executor(wrong)


def test_threads_have_a_limit():
    assert make_executor(10**400).n_workers == 1024
