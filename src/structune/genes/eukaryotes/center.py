"""Where the prior of a gene finder's weights has its mean: at what organisms have in common."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.models import load_shipped
from structune.genes.eukaryotes.structure.scaling import Scaling
from structune.structure import FloatArray

PRETRAINED = "pretrained"
IN_COMMON = "eukaryotes"  # the model of no organism alone
_KINDS = ("scales", "edges", "exon lengths")  # of weights that are alike among organisms


def prior_mean(scaling: Scaling, center: Any) -> FloatArray:
    """Of the weights of a scaling, by another finder, or the one that is told by name."""
    found = scaling.origin
    if center is None:
        return found
    known = _known() if isinstance(center, str) else _weights_of(center)
    for k, name in enumerate(scaling.names()):
        if name.startswith(_KINDS):
            found[k] = known.get(name, found[k])
    return found


@cache
def _known() -> dict[str, float]:
    return _weights_of(load_shipped("structune.genes.eukaryotes", IN_COMMON))


def check_center(center: Any) -> None:
    """Refuse what is no fitted finder with the features "full" and a log loss, nor one that has a name.

    Raises
    ------
    DataError
    """
    if center is None or (isinstance(center, str) and center == PRETRAINED):
        return
    graph = getattr(center, "graph_", None)
    if getattr(graph, "scaling", None) is None or not getattr(center, "has_probabilities", False):
        raise DataError(
            f"center={center!r:.80}: expected {PRETRAINED!r}, a fitted GeneFinder with features='full' and "
            "loss='log', or None"
        )


def _weights_of(center: Any) -> dict[str, float]:
    """Those of a finder by name."""
    return dict(zip(center.graph_.weight_names(), np.asarray(center.coef_).tolist(), strict=True))
