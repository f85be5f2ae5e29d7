"""`constraints="validation"`: taggers held to parts of their training data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import structune
from structune import SequenceTagger
from structune.errors import DataError
from structune.learning import ValidationConstraints
from structune.learning.constraints import validation_constraints
from structune.running import Run
from structune.tagging.data.hmm import hmm_attributes, simulate_hmm

Y, X = simulate_hmm(20, 3, 6, length=6, agreement=0.75, random_state=0)
TABLE, LABELS = hmm_attributes(X), [["ab"[k] for k in row] for row in Y]


TWO = ValidationConstraints(n_sets=2, gamma=0.5)


def fitted(**options):
    usual = {"n_jobs": 1, "tuning": None, "constraints": "validation"}
    return SequenceTagger(**{**usual, **options}).fit(TABLE, LABELS)


@pytest.mark.parametrize("options", [{"penalty": 0.01}, {"tuning": "implicit"}, {"constraints": TWO}])
def test_constraints_are_met(options):
    """With a fixed penalty and with a tuned one, which is that of the fit without constraints."""
    model, free = fitted(**options), fitted(**{**options, "constraints": None})
    asked = options.get("constraints", ValidationConstraints())
    shard = model.chain_.encode(TABLE, LABELS)
    constraints = validation_constraints(model.chain_, shard, asked.n_sets)
    assert model.status_ == "converged"
    assert_allclose(model.constraint_values_, [h.value(model.coef_) for h in constraints], atol=1e-9)
    assert model.constraint_values_.max() <= 1.01 * asked.gamma
    assert max(h.value(free.coef_) for h in constraints) > 1.0
    assert model.multipliers_.shape == (asked.n_sets,)
    assert model.multipliers_.max() > 0.0
    assert_array_equal(model.penalty_, free.penalty_)
    assert model.passes_ > free.passes_
    assert sum(record["stage"] == "saddle point" for record in model.history_) <= 20
    assert model.history_[-1]["stage"] == "constrained fit"


def test_loose_constraints_change_nothing():
    model, free = fitted(constraints=ValidationConstraints(gamma=1e6)), fitted(constraints=None)
    assert_allclose(model.coef_, free.coef_, atol=1e-12)
    assert_array_equal(model.multipliers_, np.zeros(3))


def test_files(tmp_path):
    model = fitted(constraints=TWO)
    model.save(tmp_path / "model")
    loaded = structune.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert_array_equal(loaded.constraint_values_, model.constraint_values_)
    assert_array_equal(loaded.multipliers_, model.multipliers_)


def test_out_of_time():
    model = fitted(run=Run(max_seconds=0.0))
    assert model.status_ == "budget"
    assert model.constraint_values_.shape == (3,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraints": "cv"}, "constraints='cv': expected None, 'validation' or a ValidationConstraints"),
        ({"loss": "margin"}, "constraints='validation' needs loss='log', not loss='margin'"),
        ({"constraints": ValidationConstraints(gamma=0.0)}, "gamma=0.0: expected a finite number > 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        fitted(**options)
