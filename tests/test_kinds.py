"""The table of kinds, ours and those of other packages."""

import importlib.metadata
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import structune
from commands import run, succeed
from structune import Ranker, RNAFolder, load
from structune.cli.verbs import command_of
from structune.errors import DataError, ModelFileError
from structune.files.models import save_model
from structune.kinds import _OURS, ENTRY_POINTS, Kind, _installed, find_kind, kind_of, kinds
from structune.learning import StructuredEstimator
from structune.structure import Shard

OTHER = Kind(word="other", estimator="nowhere:Other")


class Point:
    """An entry point, as `importlib.metadata` has them."""

    def __init__(self, name, found):
        self.name, self.value, self._found = name, f"package:{name}", found

    def load(self):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture
def installed(monkeypatch):
    """Lets packages be there that have these entry points."""

    def declare(**found):
        points = [Point(name, one) for name, one in found.items()]
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda group: points if group == ENTRY_POINTS else []
        )
        _installed.cache_clear()

    yield declare
    _installed.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes modules that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        path = tmp_path.joinpath(*name.split("."), "__init__.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    yield write
    for path in tmp_path.iterdir():
        for name in [name for name in sys.modules if name.partition(".")[0] == path.name]:
            del sys.modules[name]


@pytest.mark.parametrize("kind", _OURS, ids=lambda kind: kind.word)
def test_what_ours_name_is_there(kind):
    assert kind.estimator_class.__name__ in structune.__all__
    assert kind_of(kind.estimator_class.__new__(kind.estimator_class)) is kind
    assert kind.shard is None or issubclass(kind.shard_class, Shard)
    assert all(command_of(name, kind) for name in kind.own)
    assert bool(kind.about) == bool(kind.task)


def test_every_word_is_of_one_kind():
    words = [kind.word for kind in _OURS]
    assert len(words) == len(set(words))
    assert find_kind("rna").estimator_class is RNAFolder
    assert find_kind("nothing") is None
    with pytest.raises(ModelFileError, match="models of type 'tree' cannot use folders of shards"):
        _ = find_kind("tree").shard_class


def test_an_estimator_is_of_the_kind_that_it_derives_from():
    assert kind_of(type("Own", (Ranker,), {})()).word == "ranking"
    alone = type("Alone", (StructuredEstimator,), {"_structure": None, "_pack": None})
    with pytest.raises(DataError, match="Alone belongs to no model type; an installed package must"):
        kind_of(alone())


def test_packages_may_name_classes_by_where_they_can_be_imported_from(installed, package):
    package("stranger.deep", "class Mine: pass\nclass Yours(Mine): pass\n")
    package("stranger", "from stranger.deep import Mine, Yours\n")
    mine, yours = (Kind(word=w, estimator=f"stranger:{w}", about=w) for w in ("Mine", "Yours"))
    installed(mine=mine, yours=yours)
    assert kind_of(mine.estimator_class()) is mine
    assert kind_of(yours.estimator_class()) is yours


def test_those_of_packages_come_last(installed):
    installed(other=OTHER)
    assert list(kinds()) == [*(kind.word for kind in _OURS), "other"]
    assert find_kind("other") is OTHER


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (ImportError("no module"), "ImportError: no module"),
        (RNAFolder, "it is of type ABCMeta, not Kind"),
        (replace(OTHER, word="rna"), "the model type rna exists already"),
        (replace(OTHER, task="x:T", own=("fold", "new", "train")), "these commands exist already: fold, tr"),
    ],
)
def test_what_cannot_be_used_is_told_and_left_out(installed, found, why):
    installed(bad=found, other=OTHER)
    with pytest.warns(UserWarning, match=f"skipped the model type 'bad' of package:bad: {why}"):
        assert list(kinds()) == [*(kind.word for kind in _OURS), "other"]
    assert find_kind("rna").estimator_class is RNAFolder


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"own": "run", "task": "x:T"}, "own must be a tuple of command names, not 'run'"),
        ({"shard": "package.Shard"}, "'package.Shard' must have the form 'package.module:Class'"),
        ({"own": ("run",)}, r"the commands \('run',\) in own need a task"),
    ],
)
def test_wrong_kinds_are_refused(given, why):
    with pytest.raises(DataError, match=f"kind 'other': {why}"):
        replace(OTHER, **given)


def test_models_of_a_kind_whose_package_is_broken(installed, tmp_path):
    installed(other=OTHER)
    save_model(tmp_path / "m", "other", {}, {"a": np.zeros(1)})
    expected = f"{tmp_path / 'm'}: cannot import nowhere:Other, which the model type 'other' needs"
    with pytest.raises(ModelFileError, match=re.escape(expected)):
        load(tmp_path / "m")


def test_commands_that_cannot_be_imported_do_not_harm_the_rest(installed, package):
    package("strange_commands", "import nowhere")
    installed(bad=replace(OTHER, task="strange_commands:TASK", own=("run",)))
    result = run("--help")
    assert "structune: skipped strange_commands:TASK: " in result.stderr
    assert "fold " in result.stdout
    assert "train rna" in succeed("train", "--help")
    assert "No such command 'run'" in run("run").stderr
    told = run("train", "other").stderr
    assert "train is not available for 'other'. It is for tagging, segments, rna" in told


@pytest.mark.filterwarnings("error")
def test_others_are_not_asked_for_what_is_ours(installed):
    installed(bad=ImportError())
    assert find_kind("genes").word == "genes"
