"""The ranker: planted rankings, ties and other awkward queries, tuning, conventions, files."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import structune
from structune import Ranker, load
from structune.errors import CapabilityError, DataError
from structune.learning.margin_losses import RampLoss
from structune.learning.risk import Risk
from structune.learning.tuning import GridTuner, MajorizeTuner
from structune.ranking import first_weights
from structune.ranking.metrics import ndcg
from structune.ranking.ranker import OneQueryWarning, ZeroWeightsWarning
from structune.running import Run

W = np.array([2.0, -1.0, 0.5, 0.0])
LOSSES = ["ramp", "equivalent", "margin"]
NONCONVEX = ["ramp", "equivalent"]


def planted(n_queries=12, size=8, noise=0.0, seed=0):
    """Documents whose relevance is the score of the weights W, in three grades by rank in the query."""
    rng = np.random.default_rng(seed)
    queries = np.repeat(np.arange(n_queries), size)
    X = rng.normal(size=(queries.size, W.size))
    scores = (X @ W + noise * rng.normal(size=queries.size)).reshape(n_queries, size)
    grades = np.where(scores.argsort().argsort() >= size - 2, 2, scores.argsort().argsort() >= size - 4)
    return X, grades.ravel().astype(float), queries


X, Y, QUERIES = planted()
NOISY = planted(noise=2.0)
TEST = planted(n_queries=40, seed=1)


def ranker(**options):
    usual = {} if options.get("tuning") else {"tuning": None, "penalty": 0.1}
    return Ranker(**{"n_jobs": 1, **usual, **options})


def quietly(model, *data):
    """Fit, whether or not all weights are 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroWeightsWarning)
        return model.fit(*data)


def frame(x=X, names="abcd"):
    return pd.DataFrame(x, columns=list(names))


OF_DOCUMENTS = {  # all are of one query, which has one weight
    f"check_sample_weight{name}": "queries have weights, and documents have none of their own"
    for name in ("s_not_overwritten", "_equivalence_on_dense_data", "_equivalence_on_sparse_data")
}


@parametrize_with_checks(
    [Ranker(tuning=None), Ranker(tuning="majorize"), Ranker(tuning=None, loss="margin", k=None)],
    expected_failed_checks=lambda estimator: OF_DOCUMENTS,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_score_needs_the_queries_that_the_fit_had(tmp_path):
    model = ranker().fit(X, Y, QUERIES)
    model.save(tmp_path / "model")
    for fitted in (model, load(tmp_path / "model")):
        with pytest.raises(DataError, match="queries are missing: give the query of each document"):
            fitted.score(X, Y)
    with pytest.raises(DataError, match="queries are missing: tuning='grid', the default, holds some out"):
        Ranker().fit(X, Y)
    with pytest.warns(OneQueryWarning, match=f"all {len(Y)} documents are treated as one query"):
        ranker().fit(X, Y)


@pytest.mark.filterwarnings("ignore::structune.ranking.ranker.OneQueryWarning")
def test_without_queries_all_documents_are_of_one(tmp_path):
    one, other = quietly(ranker(), X, Y), quietly(ranker(), X, Y, np.zeros(Y.size))
    assert_array_equal(one.coef_, other.coef_)
    assert_array_equal(np.sort(one.rank(X)), 1 + np.arange(Y.size))
    one.save(tmp_path / "model")
    assert one.score(X, Y) == one.score(X, Y, np.zeros(Y.size)) == load(tmp_path / "model").score(X, Y)
    with pytest.raises(DataError, match="weights must be one number per example, not 'a'"):
        one.fit(X, Y, QUERIES, sample_weight="a")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_planted_ranking_is_found(loss):
    model = ranker(loss=loss, penalty=1e-3).fit(X, Y, QUERIES)
    assert model.status_ == "converged"
    assert model.score(X, Y, QUERIES) > 0.99
    assert model.score(*TEST) > 0.95
    assert model.coef_ @ W / np.linalg.norm(model.coef_) / np.linalg.norm(W) > 0.97
    others = {"ramp": (3, "burges"), "equivalent": (1, "letor"), "margin": (None, "scikit-learn")}
    k, convention = others[loss]
    model = ranker(loss=loss, k=k, convention=convention, penalty=1e-3).fit(X, Y, QUERIES)
    assert model.score(*TEST) > 0.9


@pytest.mark.parametrize(
    ("loss", "tuning"), [("ramp", "grid"), ("equivalent", "majorize"), ("margin", MajorizeTuner(alpha=1.0))]
)
def test_tuning(loss, tuning):
    model = Ranker(loss=loss, tuning=tuning, cv=3, n_jobs=1)
    model.fit(*NOISY)
    assert model.tuning is tuning
    assert model.status_ == "converged"
    assert model.score(*TEST) > 0.85
    again = quietly(ranker(loss=loss, penalty=model.penalty_[0]), *NOISY)
    assert_allclose(model.coef_, again.coef_, atol=0.2 * np.abs(again.coef_).max())


def test_the_grid_holds_out_queries_and_their_ndcg():
    model = Ranker(cv=4, n_jobs=1).fit(*NOISY)
    grid = [record for record in model.history_ if record["stage"] == "grid"]
    assert_allclose([record["log_precision"] for record in grid], np.log(8.0) * np.arange(-3, 4)[:, None])
    assert all(0.0 <= record["heldout_loss"] <= 12.0 for record in grid)
    best = min(reversed(grid), key=lambda record: record["heldout_loss"])
    assert np.log(model.penalty_) == pytest.approx(best["log_precision"])


def test_the_ramp_gives_up_on_a_query_that_is_upside_down():
    x, y, queries = planted(n_queries=10)
    y[:16] = 2.0 - y[:16]
    ramp, margin = (
        quietly(ranker(loss=loss, penalty=1e-2, run=Run(tolerance=1e-4)), x, y, queries)
        for loss in ("ramp", "margin")
    )
    assert ramp.score(*TEST) > 0.95
    assert ramp.score(*TEST) >= margin.score(*TEST)


def test_zero_weights_are_told():
    x, y, queries = planted(noise=100.0)
    told = "all weights are 0, which gives the lowest margin loss plus penalty, so documents stay"
    with pytest.warns(ZeroWeightsWarning, match=told):
        model = ranker(loss="margin", penalty=1e3, k=3).fit(x, y, queries)
    assert_array_equal(model.coef_, 0.0)
    assert_array_equal(model.rank(x, queries), np.tile(np.arange(1, 9), 12))


@pytest.mark.parametrize("loss", NONCONVEX)
def test_the_order_of_documents_does_not_matter_where_all_orders_tie(loss):
    """The convex-concave procedure goes on from a regression, and not from the order of a file."""
    x, y, queries = planted(noise=3.0)
    upside_down = np.lexsort((y, queries))
    orders = np.arange(y.size), upside_down
    one, other = (quietly(ranker(loss=loss, k=2), x[rows], y[rows], queries[rows]) for rows in orders)
    assert_allclose(other.coef_, one.coef_, atol=1e-9)


def test_regressions_see_training_parts_only(monkeypatch):
    seen = []
    regress = first_weights.ridge_regression
    monkeypatch.setattr(
        first_weights, "ridge_regression", lambda shards: seen.append(shards) or regress(shards)
    )
    Ranker(tuning=GridTuner((1.0,)), cv=3, n_jobs=1).fit(X, Y, QUERIES)
    assert sorted(sum(map(len, shards)) for shards in seen) == [8, 8, 8, 12]
    seen.clear()
    ranker(loss="margin", penalty=1e-3).fit(X, Y, QUERIES)
    assert not seen


@pytest.mark.parametrize(("loss", "tuning"), [("ramp", None), ("equivalent", "majorize"), ("margin", None)])
def test_weights_count_as_so_many_queries(loss, tuning):
    x, y, queries = planted(noise=1.0, size=12)
    times = np.random.default_rng(0).integers(0, 4, 12)
    rows = np.concatenate([np.flatnonzero(queries == q) for q in np.repeat(np.arange(12), times)])
    repeated = np.repeat(np.arange(times.sum()), 12)
    one, other = (ranker(loss=loss, tuning=tuning, k=None, run=Run(tolerance=1e-6)) for _ in range(2))
    quietly(one, x, y, queries, times)
    quietly(other, x[rows], y[rows], repeated)
    assert one.history_[-1]["objective"] == pytest.approx(other.history_[-1]["objective"], rel=1e-3)
    assert_allclose(one.coef_, other.coef_, atol=0.02 * np.abs(other.coef_).max())
    assert one.score(x, y, queries, times) == pytest.approx(one.score(x[rows], y[rows], repeated))


def test_weights_of_documents_are_those_of_their_queries():
    weights, shuffled = np.arange(1.0, 13.0), np.random.default_rng(0).permutation(Y.size)
    x, y, queries = (values[shuffled] for values in NOISY)
    _, first = np.unique(queries, return_index=True)
    by_query = weights[queries[np.sort(first)]]
    one, other = (quietly(ranker(), x, y, queries, each) for each in (by_query, weights[queries]))
    assert_array_equal(one.coef_, other.coef_)
    assert not np.array_equal(one.coef_, quietly(ranker(), x, y, queries).coef_)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(12), "the weights of all queries are zero"),
        (np.ones(7), r"weights must have the shape \(12,\), not \(7,\)"),
        (-np.ones(12), "example 0 has the weight -1.0"),
        (np.arange(Y.size), "document 1, query 0: the weight 1.0 differs from that of the query's first"),
    ],
)
def test_weights_that_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        ranker().fit(X, Y, QUERIES, weights)
    model = ranker().fit(X, Y, QUERIES)
    with pytest.raises(DataError, match=message):
        model.score(X, Y, QUERIES, weights)


@pytest.mark.parametrize("n_features", [3, 2100])  # whose squares are summed, or not
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, which says no more than that
def test_features_too_large(n_features):
    X = np.zeros((len(NOISY[0]), n_features))
    X[:, :3] = 1e308 * np.sign(NOISY[0][:, :3])
    with pytest.raises(DataError, match="not finite: scale the features"):
        quietly(ranker(loss="ramp", penalty=1e-3), X, *NOISY[1:])


@pytest.mark.parametrize("loss", LOSSES)
def test_one_query(loss):
    one = X[:8], Y[:8], QUERIES[:8]
    assert quietly(ranker(loss=loss, penalty=1e-3), *one).score(*one) > 0.95
    assert np.isfinite(quietly(ranker(loss=loss, tuning="majorize"), *one).coef_).all()
    with pytest.raises(DataError, match="cannot split 1 example:"):
        ranker(loss=loss, tuning="grid").fit(*one)


def test_nothing_to_learn():
    """Nothing relevant, everything, equal within queries, or one document a query."""
    for y, queries in ((0 * Y, QUERIES), (0 * Y + 2, QUERIES), (QUERIES, QUERIES), (Y, np.arange(Y.size))):
        with pytest.raises(DataError, match=r"no query has documents of different .*n_samples = 9"):
            Ranker().fit(X, y, queries)


@pytest.mark.parametrize("loss", ["ramp", "margin"])
def test_queries_that_teach_nothing_are_left_out(loss):
    """Such as have documents of one relevance, or one document."""
    more = np.vstack([X[:9], X]), np.append([0.0] * 4 + [1.0] * 4 + [2.0], Y)
    queries = np.append([20] * 4 + [21] * 4 + [22], QUERIES)
    model, other = (quietly(ranker(loss=loss), *data) for data in ((X, Y, QUERIES), (*more, queries)))
    assert_array_equal(other.coef_, model.coef_)
    assert other.score(*more, queries) == pytest.approx((12 * model.score(X, Y, QUERIES) + 2) / 15)


def test_the_unit_of_the_features_is_that_of_the_penalty():
    options = {"loss": "margin", "run": Run(tolerance=1e-4)}
    model = quietly(ranker(penalty=1e-3, **options), X, Y, QUERIES)
    other = quietly(ranker(penalty=1e9, **options), 1e6 * X, Y, QUERIES)
    assert_allclose(1e6 * other.coef_, model.coef_, rtol=0.05, atol=0.05 * np.abs(model.coef_).max())


@pytest.mark.parametrize("loss", ["ramp", "margin"])
def test_what_all_documents_of_a_query_share_changes_nothing(loss):
    shift = np.random.default_rng(3).normal(size=(12, 4))[QUERIES]
    model, other = (quietly(ranker(loss=loss), x, *NOISY[1:]) for x in (NOISY[0], NOISY[0] + shift))
    assert_allclose(other.coef_, model.coef_, atol=1e-2 * np.abs(model.coef_).max())


def test_ranks_follow_the_scores():
    model = ranker().fit(*NOISY)
    scores, ranks = model.predict(X), model.rank(X, QUERIES)
    assert_allclose(scores, X @ model.coef_)
    assert_array_equal(scores, model.decision_function(X))
    for query in range(12):
        assert_array_equal(ranks[query == QUERIES], 1 + np.argsort(np.argsort(-scores[query == QUERIES])))
    assert ranks.dtype.kind == "i"


@pytest.mark.parametrize(("k", "convention"), [(1, "letor"), (None, "scikit-learn")])
def test_the_score_is_the_mean_ndcg(k, convention):
    model = ranker(k=k, convention=convention).fit(*NOISY)
    x, y, queries = TEST
    expected = ndcg(y, model.predict(x), queries, k, convention).mean()
    assert model.score(x, y, queries) == pytest.approx(expected, abs=1e-15)
    mixed = np.random.default_rng(0).permutation(y.size)
    assert model.score(x[mixed], y[mixed], queries[mixed]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", ["ramp", "margin"])
def test_documents_may_come_in_any_order(loss):
    """As long as those of a query keep theirs, where relevances tie, and queries do."""
    mixed = np.argsort(np.arange(Y.size) % 8, kind="stable")
    for options in ({}, {"tuning": GridTuner((0.1, 1.0)), "cv": 3}):
        one, other = (
            quietly(ranker(loss=loss, **options), NOISY[0][rows], NOISY[1][rows], QUERIES[rows])
            for rows in (np.arange(Y.size), mixed)
        )
        assert_array_equal(other.coef_, one.coef_)
        assert_array_equal(other.rank(X[mixed], QUERIES[mixed]), one.rank(X, QUERIES)[mixed])


@pytest.mark.parametrize("form", [np.ndarray.tolist, sp.csc_array, np.asfortranarray, frame])
def test_forms_of_input(form):
    model, other = (quietly(ranker(penalty=1e-3), x, Y, QUERIES) for x in (X, form(X)))
    assert other.score(form(X), Y, QUERIES) == pytest.approx(model.score(X, Y, QUERIES), abs=0.01)
    assert_allclose(other.coef_, model.coef_, atol=0.1 * np.abs(model.coef_).max())
    assert_allclose(other.predict(form(X)), X @ other.coef_, atol=1e-12)
    assert not sp.issparse(other.coef_)


def test_forms_of_queries():
    model = ranker().fit(*NOISY)
    for queries in (list(QUERIES), pd.Series(QUERIES), [f"q{each}" for each in QUERIES], QUERIES - 0.5):
        assert_array_equal(ranker().fit(*NOISY[:2], queries).coef_, model.coef_)
        assert_array_equal(model.rank(X, queries), model.rank(X, QUERIES))


def test_a_wrong_document_is_named_by_its_place():
    y = Y.copy()
    y[17] = -2.0
    mixed = np.random.default_rng(0).permutation(Y.size)
    place = mixed.tolist().index(17)
    with pytest.raises(DataError, match=rf"document {place}, query 2: the relevance -2\.0"):
        ranker().fit(X[mixed], y[mixed], QUERIES[mixed])
    with pytest.raises(ValueError, match="relevances must be numbers, not strings"):
        ranker().fit(X, np.full(Y.size, "high"), QUERIES)
    model = ranker().fit(X, Y, QUERIES)
    with pytest.raises(DataError, match=rf"document {place}, query 2: the relevance -2\.0"):
        model.score(X[mixed], y[mixed], QUERIES[mixed])
    with pytest.raises(DataError, match=r"relevances must have the shape \(96,\), not \(5,\)"):
        model.score(X, Y[:5], QUERIES)
    with pytest.raises(DataError, match="there are 5 query ids, but 96 documents"):
        model.rank(X, QUERIES[:5])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loss": "log"}, CapabilityError, "loss='log' needs 'log_partition', which the structure 'ranking'"),
        ({"loss": RampLoss("slack")}, CapabilityError, "needs 'rescaled'"),
        ({"tuning": "implicit"}, CapabilityError, "needs a smooth loss"),
        ({"k": 0}, DataError, "k=0: expected a whole number >= 1"),
    ],
)
def test_options_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        ranker(**options).fit([["not", "looked at"]] if options.get("loss") == "log" else X, Y, QUERIES)


@pytest.mark.parametrize("loss", ["ramp", "margin"])
def test_a_warm_start(loss):
    model = quietly(ranker(loss=loss, warm_start=True, penalty=1e-3), X, Y, QUERIES)
    passes, score = model.passes_, model.score(*TEST)
    quietly(model, X, Y, QUERIES)
    assert model.passes_ <= 1.2 * passes
    assert model.score(*TEST) == pytest.approx(score, abs=0.02)
    assert quietly(model, X[:, :2], Y, QUERIES).coef_.shape == (2,)


def test_a_warm_start_from_zeros_is_a_cold_one():
    cold = quietly(ranker(penalty=1e-3), X, Y, QUERIES)
    model = quietly(ranker(loss="margin", warm_start=True, penalty=1e9), X, Y, QUERIES)
    model.coef_ = np.zeros_like(model.coef_)
    warm = quietly(model.set_params(loss="ramp", penalty=1e-3), X, Y, QUERIES)
    assert_allclose(warm.coef_, cold.coef_, rtol=1e-9)


@pytest.mark.parametrize(("loss", "data"), [("ramp", X), ("margin", frame())])
def test_what_is_saved_comes_back(loss, data, tmp_path):
    options = {"groups": ["a", "b", "a", "b"], "k": None, "convention": "burges", "penalty": {"a": 0.5}}
    model = quietly(ranker(loss=loss, **options), data, Y, QUERIES)
    model.save(tmp_path / "model", {"note": "é"})
    again = structune.load(tmp_path / "model")
    assert type(again) is Ranker
    assert again.get_params() == model.get_params()
    assert again.extra_ == {"note": "é"}
    for name in ("coef_", "penalty_", "group_sizes_"):
        assert_array_equal(getattr(again, name), getattr(model, name), strict=True)
    for name in ("group_names_", "history_", "status_", "passes_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name), name
    assert hasattr(again, "feature_names_in_") == (data is not X)
    assert_array_equal(again.predict(data), model.predict(data))
    assert again.score(data, Y, QUERIES) == model.score(data, Y, QUERIES)
    assert_array_equal(quietly(again, data, Y, QUERIES).coef_, model.coef_)


def test_ctrl_c_in_the_regression_that_a_fit_begins_with(monkeypatch):
    """Which ends early with weights of its own, from which a fit would end elsewhere."""
    whole, left = Risk.count_passes, iter([True])

    def pressed(risk, spent=1.0):
        if next(left, False):
            raise KeyboardInterrupt
        whole(risk, spent)

    monkeypatch.setattr(Risk, "count_passes", pressed)
    with pytest.raises(KeyboardInterrupt):
        ranker().fit(X, Y, QUERIES)


def test_two_documents_a_query_are_told_apart_by_another_convention():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(40, 2)), np.repeat(np.arange(20), 2)
    y = (X[:, 0] > X[np.arange(40) ^ 1, 0]).astype(int)
    with pytest.warns(ZeroWeightsWarning, match="the NDCG of convention='letor' is the same for all orders"):
        Ranker(tuning=None).fit(X, y, queries)
    model = Ranker(convention="burges").fit(X, y, queries)
    assert np.all(model.rank(X, queries) == 2 - y)
