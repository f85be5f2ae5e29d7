"""Progress bars as a terminal shows them."""

import functools
import io

import pytest
import rich.console

from structune import SequenceTagger
from structune.progress import Bars


@pytest.fixture
def terminal(monkeypatch):
    screen = io.StringIO()
    console = functools.partial(rich.console.Console, file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(rich.console, "Console", lambda stderr: console())
    return screen


def test_bars(terminal):
    bars = Bars()
    bars.show_whole("grid", 0.25, "heldout_loss 3")
    bars.show_part("fit", None, "evaluation 7")
    bars.print("a line [that] stays")
    bars.stop()
    shown = terminal.getvalue()
    for text in ("grid", "heldout_loss 3", "fit", "evaluation 7", "a line [that] stays", "━"):
        assert text in shown


def test_nothing_moves_without_a_terminal(capfd):
    bars = Bars()
    bars.show_part("fit", 0.5, "evaluation 7")
    bars.stop()
    assert "evaluation" not in capfd.readouterr().err


@pytest.mark.parametrize("tuning", [None, "implicit", "majorize", "direct", "grid"])
def test_every_kind_of_work_shows_where_it_stands(tuning, terminal):
    X, y = [[["w=a"], ["w=b"]], [["w=b"], ["w=a"]]] * 4, [["A", "B"], ["B", "A"]] * 4
    SequenceTagger(tuning=tuning, verbose=2).fit(X, y)
    shown = terminal.getvalue()
    assert f"{tuning or 'fit'}: " in shown
    assert "passes" in shown
