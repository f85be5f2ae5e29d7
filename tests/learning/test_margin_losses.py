"""Losses that are maxima over outputs: their outer functions, what they need, and their passes.

`loss_laws` holds them to all outputs of every structure, beside the structures' own laws.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxima import OUTER, SLOPE, enumerated, risk_of
from structune.errors import CapabilityError, DataError
from structune.learning import margin_losses as module
from structune.learning.losses import SquaredLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from tiny import small

PLACES = np.array([-1e300, -800.0, -1.0, -1e-12, 0.0, 1e-12, 0.5, 1.0, 1.5, 800.0, 1e150])


@pytest.mark.parametrize("outer", OUTER)
def test_outer_functions(outer):
    with np.errstate(over="ignore"):
        values, slopes = OUTER[outer](PLACES), SLOPE[outer](PLACES)
    with np.errstate(all="raise", under="ignore"):
        found = module.OUTER[outer](PLACES)
    assert_allclose(found[0], values, rtol=1e-14)
    assert_allclose(found[1], slopes, rtol=1e-12)


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


def test_bounds_count_passes_of_the_risk():
    risk = risk_of(enumerated("chain"), RampLoss())
    w = np.zeros(risk.n_weights)
    tangent = risk.bound(risk.concave(w)[1])
    tangent.value(w)
    risk.bound().value_and_gradient(w)
    assert risk.passes == tangent.passes == 3
