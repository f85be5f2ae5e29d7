"""Taggers with an l1 penalty: what has no weight is forgotten, and nothing else changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import structune
from structune import SequenceTagger
from structune.errors import DataError
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import GridTuner
from structune.running import Run
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure.chain import Chain

WORDS = ["the", "a", "dog", "cat", "runs", "sleeps", "far", "here"]
LABELS = ["D", "D", "N", "N", "V", "V", "A", "A"]


def corpus(n=60, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(0, 8, rng.integers(2, 7)).tolist() for _ in range(n)]
    X = [[[f"w={WORDS[k]}", f"noise={rng.integers(40)}", "bias"] for k in row] for row in drawn]
    return X, [[LABELS[k if rng.random() < 0.9 else rng.integers(8)] for k in row] for row in drawn]


X, Y = corpus()


def tagger(**options):
    return SequenceTagger(**{"n_jobs": 1, "l1": 1.0, "penalty": 0.1, **options})


def whole_fit(l1=1.0, penalty=0.1, tolerance=1e-4):
    """The chain with all pairs, its weights, and a shard of the test data."""
    table = AttributeTable.from_items(X)
    chain = Chain.build(table, Y)
    risk = Risk.over(chain, LogLoss(), chain.encode(table, Y))
    n = chain.n_weights
    fit = fit_l2(risk, np.full(n, penalty), l1=np.full(n, l1), tolerance=tolerance)
    return chain, fit.w, chain.encode(AttributeTable.from_items(corpus(30, 1)[0]))


def named(chain, w):
    return {name: v for name, v in zip(chain.weight_names(), w.tolist(), strict=True) if v}


def test_only_what_has_no_weight_is_forgotten():
    chain, w, shard = whole_fit()
    model = tagger().fit(X, Y)
    assert named(model.chain_, model.coef_) == pytest.approx(named(chain, w))
    assert model.coef_[: model.chain_.pairs.size].all()
    assert len(model.chain_.attributes) < len(chain.attributes) / 2
    assert {name.split(" : ")[0] for name in named(chain, w) if " : " in name} == set(model.chain_.attributes)
    test = corpus(30, 1)[0]
    best = chain.best(w, shard)[0]
    assert [label for row in model.predict(test) for label in row] == [chain.labels[k] for k in best]
    rows = [list(token.values()) for sequence in model.predict_marginals(test) for token in sequence]
    assert_allclose(rows, chain.marginals(w, shard), atol=1e-12)


def test_groups_without_weights_are_forgotten():
    model = tagger(l1={"noise": 100.0}, run=Run(tolerance=1e-6)).fit(X, Y)
    assert model.group_names_ == ("bias", "w", "transitions")
    assert model.group_sizes_.sum() == model.coef_.size
    assert_array_equal(model.l1_, np.zeros(3))
    model = tagger(l1={"noise": 100.0, "w": 0.1}, run=Run(tolerance=1e-6)).fit(X, Y)
    assert model.l1_.tolist() == [0.0, 0.1, 0.0]


@pytest.mark.parametrize("options", [{}, {"penalty": 0.0}])
def test_files_are_small_and_predict_the_same(options, tmp_path):
    model = tagger(**options).fit(X, Y)
    model.save(tmp_path / "sparse")
    tagger(**options | {"l1": 0.0, "penalty": 1.0}).fit(X, Y).save(tmp_path / "dense")
    assert (tmp_path / "sparse").stat().st_size < 0.8 * (tmp_path / "dense").stat().st_size
    loaded = structune.load(tmp_path / "sparse")
    assert_array_equal(loaded.coef_, model.coef_)
    assert (loaded.l1, loaded.l1_.tolist()) == (1.0, model.l1_.tolist())
    assert loaded.predict(X) == model.predict(X)


def test_files_of_models_without_l1_have_no_word_of_it(tmp_path):
    model = tagger(l1=0.0).fit(X, Y)
    header, arrays = model._pack_whole({})
    assert "l1" not in arrays
    del header["parameters"]["l1"]
    loaded = SequenceTagger._from_file(header, arrays)
    assert loaded.l1 == 0.0
    assert_array_equal(loaded.l1_, np.zeros(4))


def test_a_warm_start_knows_weights_by_their_names():
    """And those that were forgotten may come back."""
    strong = tagger(l1=5.0, run=Run(tolerance=1e-6), warm_start=True).fit(X, Y)
    n = strong.coef_.size
    strong.set_params(l1=0.5).fit(X, Y)
    cold = tagger(l1=0.5, run=Run(tolerance=1e-6)).fit(X, Y)
    assert n < strong.coef_.size
    assert strong.passes_ < cold.passes_
    assert strong.history_[-1]["objective"] == pytest.approx(cold.history_[-1]["objective"], rel=1e-6)


def test_the_grid_chooses_both_penalties():
    model = tagger(penalty=None, tuning=GridTuner([0.01, 1.0], l1=[8.0, 2.0, 0.5], warm=True)).fit(X, Y)
    tried = [record for record in model.history_ if record["stage"] == "grid"]
    assert [record["l1"] for record in tried] == [8.0, 2.0, 0.5] * 2
    best = min(tried, key=lambda record: record["heldout_loss"])
    assert set(model.l1_.tolist()) == {best["l1"]}
    assert set(np.log(model.penalty_)) == set(best["log_precision"][:1])
    assert model.coef_[: model.chain_.pairs.size].all()


def test_auto_learns_both_penalties(tmp_path):
    model = tagger(l1="auto", penalty=None, tuning="auto").fit(X, Y)
    assert model.history_[0]["tuning"] == "implicit"
    assert np.unique(model.l1_).size == 1
    assert model.l1_[0] == next(each["l1"] for each in model.history_ if each.get("chosen"))
    model.save(tmp_path / "m")
    assert structune.load(tmp_path / "m").get_params()["l1"] == "auto"


def test_shards_from_files(tmp_path):
    structune.write_shards(tagger(), tmp_path / "shards", X, Y)
    model, other = (tagger(run=Run(tolerance=1e-7)) for _ in range(2))
    model.fit_shards(tmp_path / "shards")
    other.fit(X, Y)
    assert set(model.chain_.attributes) == set(other.chain_.attributes)
    assert_allclose(sorted(model.coef_), sorted(other.coef_), atol=1e-4)
    assert model.predict(X) == other.predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "margin"}, "l1=1.0 with loss='margin': l1 needs a smooth loss"),
        ({"tuning": "implicit", "penalty": None}, "l1=1.0 with tuning='implicit': use tuning=None or"),
        ({"constraints": "validation"}, "l1=1.0 and constraints cannot be combined"),
        ({"l1": "auto"}, "l1='auto' tunes the penalties too: leave out penalty"),
        ({"l1": "auto", "penalty": None, "tuning": "majorize"}, "l1='auto' does not work with tuning='maj"),
        ({"l1": "auto", "penalty": None, "tuning": "auto", "loss": "margin"}, "l1='auto' with loss='margin'"),
        ({"l1": -1.0}, "l1=-1.0: expected finite numbers >= 0"),
        ({"l1": {"words": 1.0}}, r"l1 names unknown groups of weights: \['words'\]"),
        ({"penalty": 0.0, "l1": {"w": 1.0}}, "penalty=0.0: expected finite numbers > 0, or 0 for groups"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises((DataError, structune.errors.CapabilityError), match=message):
        tagger(**options).fit(X, Y)
