"""Progress bars as a terminal shows them, and how far the steps of long work are."""

import functools
import io
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import rich.console
import rich.progress  # before the console is replaced: it takes its own reference

from structune import RNAFolder, SequenceAligner, SequenceTagger
from structune.alignment.structure import inference as alignment_inference
from structune.cli import terminal as cli_terminal
from structune.rna.structure import tiles
from structune.running.progress import Bars, longest_step, step


@pytest.fixture
def terminal(monkeypatch):
    screen = io.StringIO()
    console = functools.partial(rich.console.Console, file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(rich.console, "Console", lambda stderr: console())
    return screen


def tasks(bars):
    return [(task.description, task.total, task.completed, task.visible) for task in bars._progress.tasks]


def test_bars(terminal):
    bars = Bars()
    bars.show_whole("grid", 0.25, "heldout_loss 3")
    bars.show_part("fit", None, "evaluation 7")
    bars.print("a line [that] stays")
    assert tasks(bars) == [("grid", 1.0, 0.25, True), ("fit", None, 0.0, True)]
    bars.stop()
    shown = terminal.getvalue()
    for text in ("grid", "heldout_loss 3", "fit", "evaluation 7", "a line [that] stays", "━"):
        assert text in shown


def test_a_bar_starts_anew_with_each_part(terminal):
    bars = Bars()
    for stage, done in (("fit", 0.5), ("fit", 1.0), ("linear system", None), ("fit", 0.0), ("fit", 0.3)):
        bars.show_part(stage, done, "")
        assert tasks(bars)[1] == (stage, None if done is None else 1.0, done or 0.0, True)
        assert (bars._progress.tasks[1].finished_time is None) == (done != 1.0)
    bars.stop()


def test_nothing_moves_without_a_terminal(capfd):
    bars = Bars()
    bars.show_part("fit", 0.5, "evaluation 7")
    bars.print("x" * 200)
    bars.stop()
    assert capfd.readouterr().err == "x" * 200 + "\n"


def test_a_long_step_has_a_bar_while_it_goes_on(terminal, monkeypatch):
    monkeypatch.setattr(cli_terminal, "_SOON", 0.0)
    monkeypatch.setattr(cli_terminal, "_LOOK", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with cli_terminal.Progress(True) as progress:
        with step("sums inside", lambda: 0.25):
            assert eventually(lambda: tasks(progress._bars)[1] == ("sums inside", 1.0, 0.25, True))
        assert eventually(lambda: not tasks(progress._bars)[1][-1])
    with cli_terminal.Progress(False) as progress:
        assert progress._bars is None


def eventually(happens, seconds=30):
    until = time.monotonic() + seconds
    while not happens() and time.monotonic() < until:
        time.sleep(0.01)
    return happens()


def test_steps_of_examples_go_from_nothing_to_all(monkeypatch):
    """Whatever kernels they take: none stays where it is, or goes beyond its end."""
    told = []

    @contextmanager
    def recorded(name, done):
        before = done()
        yield
        told.append((name, before, done()))

    for module in (tiles, alignment_inference):
        monkeypatch.setattr(module, "step", recorded)
    rna, residues = "GGGAAACCC" * 20, "ARNDCQEGHILK" * 9
    for span in (None, 20):
        folder = RNAFolder.pretrained().set_params(max_span=span, n_jobs=1)
        folder.pair_probabilities(rna)
        folder.predict_viterbi([rna])
    aligner = SequenceAligner.pretrained().set_params(n_jobs=1)
    aligner.predict([(residues, residues)])
    aligner.predict_viterbi([(residues, residues)])
    names = {"sums inside", "sums outside", "best scores", "sums forward", "sums backward"}
    assert {name for name, _, _ in told} == names
    assert all(before == 0.0 for _, before, _ in told)
    assert all(after == pytest.approx(1.0, abs=1e-3) for _, _, after in told)


@pytest.mark.parametrize("tuning", [None, "implicit", "grid"])
def test_every_kind_of_work_shows_where_it_stands(tuning, monkeypatch):
    whole, part = [], []
    monkeypatch.setattr(Bars, "show_whole", lambda _, *shown: whole.append(shown))
    monkeypatch.setattr(Bars, "show_part", lambda _, *shown: part.append(shown))
    X, y = [[["w=a"], ["w=b"]], [["w=b"], ["w=a"]]] * 4, [["A", "B"], ["B", "A"]] * 4
    SequenceTagger(tuning=tuning, verbose=1).fit(X, y)
    assert (tuning or "fit") in {stage for stage, _, _ in whole}
    assert all("passes" in line for _, _, line in whole)
    shown = part if tuning else whole  # the whole work is one fit
    fits = [done for stage, done, _ in shown if stage == "fit" and done is not None]
    assert fits[0] == 0.0
    assert fits[-1] == 1.0
    assert all(0.0 <= done <= 1.0 for done in fits)


def test_the_longest_of_all_threads_is_told():
    begun, go_on = threading.Event(), threading.Event()

    def work():
        with step("later", lambda: 0.0):
            begun.set()
            go_on.wait(30)

    with step("whole", lambda: 0.25):
        thread = threading.Thread(target=work)
        thread.start()
        assert begun.wait(30)
        assert (longest_step().name, longest_step().done()) == ("whole", 0.25)
    assert longest_step().name == "later"
    go_on.set()
    thread.join(30)
    assert longest_step() is None


def test_steps_of_generators_end_in_any_order():
    def parts():
        with step("parts", lambda: 0.0):
            yield

    generator = parts()
    next(generator)
    with step("other", lambda: 0.0):
        generator.close()
        assert longest_step().name == "other"
    assert longest_step() is None


def test_a_step_within_another_is_told_until_it_ends():
    with step("outer", lambda: 0.0):
        with suppress(KeyboardInterrupt), step("inner", lambda: 0.0):
            assert longest_step().name == "inner"
            raise KeyboardInterrupt
        assert longest_step().name == "outer"
