"""The second-order chain against all labellings written out, in the linear and in the log domain."""

from contextlib import nullcontext
from unittest import mock

import pytest
from hypothesis import given, settings

import laws
from chains import chain_problems
from structune.tagging.structure.inference import ChainInference
from structune.tagging.structure.second_order import SecondOrderChain

DIFFERENCES = (laws.expected_features_are_the_slope, laws.hessian_products_are_gradient_differences)


def problems(**options):
    return chain_problems(of=SecondOrderChain, **options)


def log_domain():
    return mock.patch.object(ChainInference, "_safe_range", 0.0)


def small_blocks():
    return mock.patch.object(ChainInference, "_block_cells", 1)


@pytest.mark.parametrize("circumstance", [nullcontext, log_domain, small_blocks])
@settings(max_examples=25)
@given(problem=problems())
def test_laws(circumstance, problem):
    with circumstance():
        laws.hold(problem)
