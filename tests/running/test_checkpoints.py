"""Checkpoints: work that is killed goes on where it was, and files are whole or not there."""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from structune import MultitaskEstimator, SequenceTagger, load
from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.learning.margin_losses import MarginLoss
from structune.learning.tuning import GridTuner
from structune.running import Run
from structune.running.checkpoints import Checkpoint, CheckpointWarning

X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]], [["w=dog"]], [["w=a"], ["w=tree"]]] * 5
Y = [["DET", "NOUN"], ["DET", "NOUN"], ["NOUN"], ["DET", "NOUN"]] * 5


def cut_short(path, **settings):
    """A file that training left that was killed before its result was saved."""
    settings = {"tuning": None, **settings, "run": Run(checkpoint=Checkpoint(path, lasting=True))}
    SequenceTagger(**settings).fit(X, Y)
    assert path.exists()


def write(path, header, arrays):
    save_model(path, "checkpoint", {key: header[key] for key in ("identity", "states")}, arrays)


DATA = {"a": (X[:10], Y[:10]), "b": (X[10:], Y[10:])}


def of_tasks(inner=None, **settings):
    return MultitaskEstimator(inner or SequenceTagger(), {"root": ["a", "b"]}, n_jobs=1, **settings)


def test_what_fails_at_once_leaves_no_file(tmp_path):
    path = tmp_path / "c"
    with pytest.raises(ValueError, match="cannot split 20 examples"):
        SequenceTagger(run=Run(checkpoint=path), tuning=GridTuner(), cv=30).fit(X, Y)
    assert not path.exists()


def test_the_file_goes_when_the_work_is_done(tmp_path):
    path = tmp_path / "c"
    cut_short(path, tuning="implicit")
    found = SequenceTagger(run=Run(checkpoint=path), tuning="implicit").fit(X, Y)
    assert not path.exists()
    assert_allclose(found.coef_, SequenceTagger(tuning="implicit").fit(X, Y).coef_, atol=1e-3)
    lasting = Checkpoint(path, lasting=True)
    again = SequenceTagger(run=Run(checkpoint=lasting), tuning="implicit").fit(X, Y)
    assert path.exists()
    assert clone(again).run.checkpoint is lasting
    quick = SequenceTagger(run=Run(checkpoint=path), tuning="implicit").fit(X, Y)
    assert len(quick.history_) == len(again.history_)
    again.save(tmp_path / "model")
    assert load(tmp_path / "model").run is None


def test_other_work_is_refused(tmp_path):
    path = tmp_path / "c"
    cut_short(path, penalty=2.0)
    for settings, said in (({"penalty": 3.0}, r"penalty: 2\.0 there"), ({"loss": "margin"}, "loss: log")):
        with pytest.raises(DataError, match=said):
            SequenceTagger(run=Run(checkpoint=path), **settings).fit(X, Y)
    with pytest.raises(DataError, match="parts: 35 there, 33 now"):
        SequenceTagger(run=Run(checkpoint=path), penalty=2.0).fit(X[1:], Y[1:])
    with pytest.raises(DataError, match="at w = 0"):
        SequenceTagger(run=Run(checkpoint=path), penalty=2.0).fit(X, Y, sample_weight=[2.0, *[1.0] * 19])
    with pytest.raises(DataError, match=r"tolerance: 0\.0001 there, 0\.01 now"):
        SequenceTagger(run=Run(checkpoint=path, tolerance=1e-2), penalty=2.0).fit(X, Y)
    SequenceTagger(run=Run(checkpoint=path), penalty=2.0, n_jobs=2, verbose=0).fit(X, Y)


def test_other_held_out_examples_are_refused(tmp_path):
    """Also of a splitter that is told by the same words, or of other groups."""
    for settings, given in (({"cv": ShuffleSplit(2)}, {}), ({"cv": 0.2}, {"groups": np.arange(20)})):
        path = tmp_path / "c"
        cut_short(path, tuning="grid", **settings)
        with pytest.raises(DataError, match="held-out examples"):
            SequenceTagger(run=Run(checkpoint=path), tuning="grid", **settings).fit(X, Y, **given)
        path.unlink()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: {"tuning": GridTuner()}, lambda: {"tuning": GridTuner(warm=True)}),
        (lambda: {"groups": lambda name: name[0]}, lambda: {"groups": lambda name: name[-1]}),
        (lambda: {"loss": MarginLoss("slack")}, lambda: {"loss": MarginLoss()}),
    ],
    ids=["tuner", "groups", "loss"],
)
def test_settings_that_are_objects(one, other, tmp_path):
    """As in another process, where addresses are others."""
    path = tmp_path / "c"
    first = one()
    cut_short(path, **first)
    with pytest.raises(DataError, match="from another training"):
        SequenceTagger(**{"tuning": None, "run": Run(checkpoint=path), **other()}).fit(X, Y)
    # `first` lives: these are elsewhere
    SequenceTagger(**{"tuning": None, "run": Run(checkpoint=path), **one()}).fit(X, Y)
    assert not path.exists()


@pytest.mark.parametrize("max_seconds", [None, 0.0])
def test_what_was_fitted_with_a_checkpoint_is_pickled(max_seconds, tmp_path):
    model = SequenceTagger(tuning=None, run=Run(None, max_seconds, Checkpoint(tmp_path / "c", 0.0))).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.run.checkpoint.path == tmp_path / "c"


def test_settings_inside_a_tree(tmp_path):
    """What a fit depends on counts; where it runs, and for how long, does not."""
    path = tmp_path / "c"

    def learn(max_seconds=None, **settings):
        run = Run(None, max_seconds, Checkpoint(path, lasting=True))
        of_tasks(SequenceTagger(verbose=0, **settings), run=run).fit(DATA)

    learn(penalty=2.0, n_jobs=1)
    assert path.exists()
    learn(penalty=2.0, n_jobs=2, max_seconds=100.0)
    with pytest.raises(DataError, match=r"estimator__penalty: 2\.0 there, 3\.0 now"):
        learn(penalty=3.0, n_jobs=1)


def test_files_that_are_no_checkpoints(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"nonsense")
    with pytest.raises(ModelFileError, match="damaged"):
        SequenceTagger(tuning=None, run=Run(checkpoint=path)).fit(X, Y)
    for wrong in ({}, {"states": []}, {"states": {"a": 1}, "identity": {}}, {"states": {}, "identity": 1}):
        save_model(path, "checkpoint", wrong, {})
        with pytest.raises(ModelFileError, match="damaged"):
            SequenceTagger(tuning=None, run=Run(checkpoint=path)).fit(X, Y)
    save_model(path, "tagging", {}, {})
    with pytest.raises(ModelFileError, match="not a checkpoint"):
        SequenceTagger(tuning=None, run=Run(checkpoint=path)).fit(X, Y)
    cut_short(tmp_path / "d")
    with pytest.raises(ModelFileError, match="unknown model type"):
        load(tmp_path / "d")


def test_arrays_that_do_not_fit(tmp_path):
    """Kernels trust the length of weights: a file that says otherwise is refused."""
    path = tmp_path / "c"
    SequenceTagger(tuning=None, run=Run(checkpoint=Checkpoint(path, lasting=True))).fit(X, Y)
    header, arrays = read_model(path)
    for name, right in arrays.items():
        told = name.partition("/")[2]
        huge = np.full_like(right, 1e200)
        for wrong in (right[..., :-1], right[:, None], right * np.nan, huge, right.astype(np.float32)):
            write(path, header, arrays | {name: wrong})
            with pytest.raises(ModelFileError, match=f"c: the checkpoint is damaged: {told!r} is float"):
                SequenceTagger(tuning=None, run=Run(checkpoint=path)).fit(X, Y)
    assert sorted(name.partition("/")[2] for name in arrays) == ["pairs", "w"]


ENTRIES = [
    ({"tuning": "grid"}, "n", 1.5, "'n' is 1.5, not of type int"),
    ({"tuning": "grid"}, "n", -1, "'n' is -1, not a number from 0 to"),
    ({"tuning": "grid"}, "loss", 10**400, "'loss' is 1000"),
    ({"tuning": "implicit"}, "history", [1], "history has an entry without a stage"),
    ({"tuning": "implicit"}, "status", "won", "found the status 'won'"),
    ({"loss": "ramp"}, "phase", 7, "'phase' is 7, not a number from 0 to 0"),
]


@pytest.mark.parametrize("k", range(len(ENTRIES)))
def test_entries_of_other_types(k, tmp_path):
    """Python would find out somewhere in the middle, and say nothing of the file."""
    settings, name, wrong, message = ENTRIES[k]
    path = tmp_path / "c"
    cut_short(path, **settings)
    header, arrays = read_model(path)
    for state in header["states"].values():
        if name in state:
            state[name] = wrong
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match=f"c: the checkpoint is damaged: .*{message}"):
        SequenceTagger(run=Run(checkpoint=path), **settings).fit(X, Y)


@pytest.mark.parametrize(
    ("gammas", "change"),
    [
        ((0.5,), lambda nodes: {"other": {}}),
        ((0.5,), lambda nodes: {node: {} for node in nodes}),
        ((0.0, 0.5), lambda nodes: []),
    ],
)
def test_nodes_of_other_trees(change, gammas, tmp_path):
    path = tmp_path / "c"
    model = of_tasks(gammas=gammas, run=Run(checkpoint=Checkpoint(path, 0.0, lasting=True))).fit(DATA)
    header, arrays = read_model(path)
    for state in header["states"].values():
        for name in {"nodes", "chosen"} & set(state):
            state[name] = change(state[name])
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match=r"c: the checkpoint is damaged: '(chosen|nodes|gamma)' is "):
        model.fit(DATA)


def test_where_nothing_can_be_written_the_fit_goes_on(tmp_path):
    path = tmp_path / "no folder" / "c"
    with pytest.warns(CheckpointWarning, match="checkpoint cannot be written") as told:
        tagger = SequenceTagger(tuning=None, run=Run(checkpoint=Checkpoint(path, seconds=0.0))).fit(X, Y)
    assert len(told) == 1
    assert tagger.status_ == "converged"


@pytest.mark.parametrize("gammas", [(0.5,), (0.0, 0.5)], ids=["given", "chosen"])
def test_a_tree_that_runs_out_of_time(gammas, tmp_path):
    """What was cut short is no part of the state."""
    path = tmp_path / "c"

    def learned(max_seconds=None):
        checkpoint = Checkpoint(path, 0.0)
        model = of_tasks(gammas=gammas, run=Run(None, max_seconds, checkpoint)).fit(DATA)
        assert checkpoint.is_done != path.exists()
        return model

    assert learned(max_seconds=0.0).nodes_["a"]["status"] == "budget"
    assert path.exists()
    found = learned()
    path.unlink(missing_ok=True)
    whole = learned()
    for node in ("root", "a", "b"):
        assert found.nodes_[node]["gamma"] == whole.nodes_[node]["gamma"]
        assert_allclose(found.weights_[node], whole.weights_[node], atol=1e-3)


DOOMED = """
import os, signal, sys
from itertools import count
from pathlib import Path
import test_checkpoints

writes, replace, (path, moment) = count(1), Path.replace, sys.argv[1:]

def die(partial, target):
    if next(writes) == 3:
        if moment == "half written":
            os.truncate(partial, partial.stat().st_size // 2)
        else:
            replace(partial, target)
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(partial, target)

Path.replace = die
test_checkpoints.tuned(path)
"""


def tuned(checkpoint=None):
    """Written as often as can be."""
    checkpoint = checkpoint and Checkpoint(checkpoint, seconds=0.0)
    return SequenceTagger(tuning="implicit", cv=3, run=Run(checkpoint=checkpoint)).fit(X, Y)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_sigkill_while_the_file_is_written(tmp_path):
    """A process that dies elsewhere leaves what one write did, or the next one."""
    path, here = tmp_path / "c", Path(__file__).parent
    folders = os.pathsep.join((str(here), str(here.parent), os.environ.get("PYTHONPATH", "")))
    for moment in ("half written", "written"):
        command = [sys.executable, "-c", DOOMED, str(path), moment]
        process = subprocess.run(command, env=os.environ | {"PYTHONPATH": folders})
        assert process.returncode == -signal.SIGKILL
        assert Path(f"{path}.partial").exists() == (moment == "half written")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Checkpoint(path).begin({})  # whole
    found, whole = tuned(path), tuned()
    assert not list(tmp_path.iterdir())
    assert whole.passes_ <= found.passes_ < 1.5 * whole.passes_
    assert_allclose(found.coef_, whole.coef_, atol=1e-3)
