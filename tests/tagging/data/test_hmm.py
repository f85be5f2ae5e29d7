"""The simulated hidden Markov model of Do, Foo & Ng 2007."""

import numpy as np
import pytest

from structune.errors import DataError
from structune.tagging.data.hmm import hmm_attributes, hmm_groups, simulate_hmm


def test_probabilities_are_those_of_the_paper():
    y, x = simulate_hmm(20000, 3, n_features=6, random_state=1)
    state = y[:, :, None]
    assert np.mean(y[:, 0]) == pytest.approx(0.5, abs=0.02)
    assert np.mean(y[:, 1:] == y[:, :-1]) == pytest.approx(0.6, abs=0.01)
    assert np.mean(x == state, axis=(0, 1)) == pytest.approx([0.6] * 3 + [0.5] * 3, abs=0.01)
    assert np.mean(x[state[..., 0] == 1], axis=0) == pytest.approx([0.6] * 3 + [0.5] * 3, abs=0.01)


def test_features_are_independent_given_the_states():
    y, x = simulate_hmm(20000, 2, n_features=3, length=3, random_state=2)
    wrong = (x ^ y[:, :, None]).reshape(-1, 3)
    assert np.corrcoef(wrong[:, :2].T)[0, 1] == pytest.approx(0, abs=0.02)
    assert np.corrcoef(wrong[:, 0].reshape(-1, 3).T)[0, 1] == pytest.approx(0, abs=0.03)


def test_seeds():
    y, x = simulate_hmm(5, 3, random_state=4)
    again = simulate_hmm(5, 3, random_state=np.random.default_rng(4))
    assert (y == again[0]).all()
    assert (x == again[1]).all()
    assert (simulate_hmm(5, 9, random_state=4)[0] == y).all()


def test_attributes_of_values_and_of_ones_alone():
    x = np.array([[[0, 1], [1, 1]], [[1, 0], [0, 0]]])
    table = hmm_attributes(x)
    assert table.names == ["x0=0", "x0=1", "x1=0", "x1=1"]
    assert table.indices.reshape(-1, 2).tolist() == [[0, 3], [1, 3], [1, 2], [0, 2]]
    assert table.indptr.tolist() == [0, 2, 4, 6, 8]
    assert table.lengths.tolist() == [2, 2]
    with pytest.raises(DataError, match="encoding='both': expected"):
        hmm_attributes(x, "both")
    table = hmm_attributes(x, "indicator")
    assert table.names == ["x0=1", "x1=1"]
    assert table.indices.tolist() == [1, 0, 1, 0]
    assert table.indptr.tolist() == [0, 1, 3, 4, 4]


def test_groups():
    names = ["x0=0", "x4=1", "x5=0", "x12=1"]
    groups = hmm_groups(names, 5)
    assert groups == {"x0=0": "relevant", "x4=1": "relevant", "x5=0": "noise", "x12=1": "noise"}


@pytest.mark.parametrize("options", [{"n_sequences": 0}, {"n_relevant": 41}, {"agreement": -0.1}])
def test_impossible_models_are_refused(options):
    with pytest.raises(DataError, match=r"must be|expected 0 to"):
        simulate_hmm(**{"n_sequences": 2, "n_relevant": 3, **options})


@pytest.mark.parametrize("x", [np.zeros((2, 3)), np.full((1, 1, 1), 2)])
def test_other_arrays_are_refused(x):
    with pytest.raises(DataError, match="x must have 3 dimensions"):
        hmm_attributes(x)
