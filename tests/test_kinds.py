"""The table of kinds, ours and those of other packages."""

import importlib.metadata
from dataclasses import replace

import pytest

import structune
from structune import Ranker, RNAFolder
from structune.errors import ModelFileError
from structune.kinds import _OURS, ENTRY_POINTS, Kind, _installed, find_kind, kind_of, kinds
from structune.learning import StructuredEstimator
from structune.structure import Shard

OTHER = Kind(word="other", estimator="nowhere:Other", also=("others",))


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


@pytest.mark.parametrize("kind", _OURS, ids=lambda kind: kind.word)
def test_what_ours_name_is_there(kind):
    assert kind.estimator_class.__name__ in structune.__all__
    assert kind_of(kind.estimator_class.__new__(kind.estimator_class)) is kind
    assert kind.shard is None or issubclass(kind.shard_class, Shard)
    assert all(kind.command(name) for name in kind.own)
    assert bool(kind.about) == bool(kind.commands)


def test_every_word_is_of_one_kind():
    words = [word for kind in _OURS for word in (kind.word, *kind.also)]
    assert len(words) == len(set(words))


def test_words_find_kinds():
    assert find_kind("rna") is find_kind("rna-folder")
    assert find_kind("rna").estimator_class is RNAFolder
    assert find_kind("nothing") is None


def test_an_estimator_is_of_the_kind_that_it_derives_from():
    assert kind_of(type("Own", (Ranker,), {})()).word == "ranking"
    alone = type("Alone", (StructuredEstimator,), {"_structure": None, "_pack": None})
    with pytest.raises(ModelFileError, match="Alone is the estimator of no kind: expected one that an inst"):
        kind_of(alone())


def test_shards_of_a_kind_without_any():
    with pytest.raises(ModelFileError, match="the kind 'ranking' has no folders of shards"):
        _ = find_kind("ranking").shard_class


def test_those_of_packages_come_last(installed):
    installed(other=OTHER)
    assert list(kinds()) == [*(kind.word for kind in _OURS), "other"]
    assert find_kind("other") is find_kind("others") is OTHER


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (ImportError("no module"), "ImportError: no module"),
        (RNAFolder, "found ABCMeta, expected a Kind"),
        (replace(OTHER, word="rna"), "rna is another kind already"),
        (replace(OTHER, word="new", also=("tagger", "chain")), "chain, tagger is another kind already"),
    ],
)
def test_what_cannot_be_used_is_told_and_left_out(installed, found, why):
    installed(bad=found, other=OTHER)
    with pytest.warns(UserWarning, match=f"the kind 'bad' of package:bad is left out: {why}"):
        assert list(kinds()) == [*(kind.word for kind in _OURS), "other"]
    assert find_kind("rna").estimator_class is RNAFolder


def test_of_two_packages_with_one_word_the_first_counts(installed):
    installed(first=OTHER, second=replace(OTHER, estimator="nowhere:Second"))
    with pytest.warns(UserWarning, match="the kind 'second' of package:second is left out"):
        assert find_kind("others") is OTHER


def test_others_are_not_asked_for_what_is_ours(installed):
    installed(bad=ImportError())
    assert find_kind("genes").word == "genes"  # without a warning
