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
_IN_COMMON = "eukaryotes"  # the file
_KINDS = ("scales", "edges", "exon lengths")  # of weights that are alike among organisms


def prior_mean(scaling: Scaling, center: Any) -> FloatArray:
    """Of the weights of a scaling, by another finder, or the one that is told by name.

    Raises
    ------
    DataError
        It is no fitted finder with the features "full".
    """
    found = scaling.origin
    if center is None:
        return found
    known = _known() if isinstance(center, str) and center == PRETRAINED else weights_of(center)
    for k, name in enumerate(scaling.names()):
        if name.startswith(_KINDS):
            found[k] = known.get(name, found[k])
    return found


@cache
def _known() -> dict[str, float]:
    return weights_of(load_shipped("structune.genes.eukaryotes", _IN_COMMON))


def weights_of(center: Any) -> dict[str, float]:
    """Those of a fitted finder by name."""
    graph: Any = getattr(center, "graph_", None)
    if getattr(graph, "scaling", None) is None or not hasattr(center, "coef_"):
        raise DataError(
            f"center={center!r:.80}: expected {PRETRAINED!r}, a fitted GeneFinder with features='full', "
            "or None"
        )
    return dict(zip(graph.weight_names(), np.asarray(center.coef_).tolist(), strict=True))
