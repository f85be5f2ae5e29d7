"""Chains by their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import DataError
from structune.tagging.structure.chain import Chain
from structune.tagging.structure.inference import ChainInference


def chain_class(order: Any) -> type[ChainInference]:
    """The class of chains whose labels look at `order` labels before them.

    Raises
    ------
    DataError
        Neither 1 nor 2.
    """
    if isinstance(order, int | np.integer) and not isinstance(order, bool):
        if order == 1:
            return Chain
        if order == 2:
            from structune.tagging.structure.second_order import SecondOrderChain  # few taggers need it

            return SecondOrderChain
    raise DataError(f"order={order!r}: expected 1 or 2")
