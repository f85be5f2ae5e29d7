"""Losses that are maxima over outputs: their outer functions, what they need, examples done by hand.

`loss_laws` holds them to all outputs of every structure, beside the structures' own laws.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxima import OUTER, SLOPE, enumerated, risk_of
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning import margin_losses as module
from structune.learning.losses import SquaredLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from tiny import small

PLACES = np.array([-1e300, -800.0, -1.0, -1e-12, 0.0, 1e-12, 0.5, 1.0, 1.5, 800.0, 1e150])


# --- outer functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outer", OUTER)
def test_outer_functions(outer):
    with np.errstate(over="ignore"):
        values, slopes = OUTER[outer](PLACES), SLOPE[outer](PLACES)
    with np.errstate(all="raise", under="ignore"):
        found = module.OUTER[outer](PLACES)
    assert_allclose(found[0], values, rtol=1e-14)
    assert_allclose(found[1], slopes, rtol=1e-12)


# --- options and abilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [MarginLoss, RampLoss])
def test_unknown_rescalings(loss):
    with pytest.raises(DataError, match=r"rescaling='cost': expected one of \('margin', 'slack'\)"):
        loss("cost")


def test_unknown_outer_functions():
    with pytest.raises(DataError, match=r"outer='exponential': expected one of \['hinge', 'huber', 'logis"):
        MarginLoss(outer="exponential")


def test_a_structure_without_decoding():
    structure, shard = small("linear")
    with pytest.raises(CapabilityError, match="the cost of predictions needs 'cost'"):
        Risk(structure, SquaredLoss(), [shard]).task_cost(np.zeros(structure.n_weights))


# --- by hand ----------------------------------------------------------------------------------------------


def test_the_loss_of_crammer_and_singer():
    """max(0, 1 + best other score - own score), for two classes or more."""
    structure = Classes(["a", "b", "c"], ["x"], bias=False)
    w = np.array([1.0, 1.5, -2.0])
    for label, expected in (("a", 1.5), ("b", 0.5), ("c", 4.5)):
        risk = Risk(structure, MarginLoss(), [structure.encode([[1.0]], [label])])
        assert risk.value(w) == pytest.approx(expected)
        assert risk.value(10 * w) == pytest.approx({"a": 6.0, "b": 0.0, "c": 36.0}[label])


def test_the_ramp_does_not_grow_where_an_example_stays_wrong():
    structure = Classes(["a", "b"], ["x"], bias=False, reference=True)
    shard = structure.encode([[1.0], [-1.0]], ["a", "a"])
    for loss in (RampLoss(), RampLoss("slack")):
        risk = Risk(structure, loss, [shard])
        assert [risk.value(np.array([s])) for s in (0.0, 1.0, 1e6)] == pytest.approx([2.0, 1.0, 1.0])
    bound = Risk(structure, MarginLoss(), [shard])
    assert [bound.value(np.array([s])) for s in (0.0, 1.0, 1e6)] == pytest.approx([2.0, 2.0, 1e6 + 1])


# --- risks ------------------------------------------------------------------------------------------------


def test_bounds_count_passes_of_the_risk():
    risk = risk_of(enumerated("chain"), RampLoss())
    w = np.zeros(risk.n_weights)
    tangent = risk.bound(risk.concave(w)[1])
    tangent.value(w)
    risk.bound().value_and_gradient(w)
    assert risk.passes == tangent.passes == 3
