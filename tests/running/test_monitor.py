"""Monitors: history, progress, budget."""

import math
import pickle
from types import SimpleNamespace

import pytest

from structune.running.checkpoints import Checkpoint
from structune.running.monitor import Monitor


def test_shown_objectives_are_records_where_the_part_is_the_whole():
    monitor, passes = Monitor(), iter([1.5, 2.5])
    with monitor.recording(lambda: next(passes)):
        monitor.show("fit", objective=2.0, lower_bound=-math.inf)
        monitor.show("linear system", product=3)
        monitor.show("fit", objective=1.0, lower_bound=0.5)
    monitor.show("fit", objective=0.0)
    for record in monitor.history:
        assert record.pop("seconds") >= 0
    assert monitor.history == [
        {"stage": "fit", "passes": 1.5, "objective": 2.0},
        {"stage": "fit", "passes": 2.5, "objective": 1.0, "lower_bound": 0.5},
    ]


@pytest.mark.parametrize("verbose", [0, 2])
def test_work_inside_work_shares_the_bars(verbose, capfd):
    monitor = Monitor(verbose)
    with monitor:
        with monitor:
            monitor.record("inner", objective=1.5)
        monitor.record("outer", objective=2.5)
        assert (monitor._bars is not None) == bool(verbose)
    assert monitor._bars is None
    monitor.record("after", objective=3.5)
    err = capfd.readouterr().err
    assert ("inner: objective 1.5" in err) == ("outer: objective 2.5" in err) == (verbose == 2)
    assert "after" not in err


def test_an_error_ends_the_bars():
    monitor = Monitor(1)
    with pytest.raises(ZeroDivisionError), monitor, monitor:
        raise ZeroDivisionError
    assert monitor._bars is None


def test_another_process_gets_a_silent_monitor_with_the_time_left(monkeypatch):
    now = [10.0]
    monkeypatch.setattr("structune.running.monitor.time", SimpleNamespace(perf_counter=lambda: now[0]))
    with Monitor(2, 3.0) as monitor:
        now[0] += 0.5
        monitor.record("fit", objective=1.0)
        other = pickle.loads(pickle.dumps(monitor))
    assert other.max_seconds == 2.5
    assert (other.verbose, other.history) == (0, [])
    assert pickle.loads(pickle.dumps(Monitor())).max_seconds is None


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_leave_a_checkpoint(tmp_path, error):
    def work():
        with monitor:
            monitor.kept_search("test").keep(lambda: {"n": 3})
            raise error

    monitor = Monitor()
    monitor.checkpoint = Checkpoint(tmp_path / "c")
    monitor.checkpoint.begin({})
    with pytest.raises(error):
        work()
    monitor.checkpoint.begin({})
    assert monitor.kept_search("test").state["n"] == 3


class Counted:
    """Passes that nothing takes but earlier work."""

    def __init__(self):
        self.spent = 0.0

    def add(self, passes):
        self.spent += passes


def monitor_of(path):
    monitor = Monitor()
    monitor.passes, monitor.checkpoint = Counted(), Checkpoint(path, seconds=0.0)
    monitor.checkpoint.begin({})
    return monitor


def test_states_tell_of_the_whole_work(tmp_path):
    """Those of fits may be newer than that of the search around them, and are never undone by it."""
    first = monitor_of(tmp_path / "c")
    first.record("search", step=1)
    first.passes.add(3.0)
    first.kept_search("one").keep(dict)
    first.record("fit", objective=2.0)
    first.passes.add(1.5)
    first.kept_fit(7).keep(lambda: {"value": 2.0})
    then = monitor_of(tmp_path / "c")
    then.passes.add(0.5)
    then.kept_search("one")
    assert (then.history, then.passes.spent) == (first.history[:1], 3.0)
    assert then.kept_fit(7).state.entry("value", float) == 2.0
    assert (then.history, then.passes.spent) == (first.history, 4.5)
    then.record("fit", objective=1.0)
    assert then.history[-1]["seconds"] >= first.history[-1]["seconds"]


def test_a_search_replaces_the_states_of_its_own_fits_alone(tmp_path):
    def all_of(name):
        return [monitor_of(tmp_path / name).kept_fit(k).state is not None for k in range(3)]

    monitor = monitor_of(tmp_path / "c")
    monitor.kept_fit(0).keep(dict)
    search = monitor.kept_search("one")
    for k in (1, 2):
        monitor.kept_fit(k).keep(dict)
    assert all_of("c") == [True, True, True]
    search.keep(dict)
    assert all_of("c") == [True, False, False]
