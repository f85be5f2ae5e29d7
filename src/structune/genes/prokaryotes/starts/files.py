"""Models of starts in model files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.genes.prokaryotes.kernels.ribosome_site import RUNS, SPACINGS
from structune.genes.prokaryotes.starts.choices import BEHIND, N_NEIGHBOURS
from structune.genes.prokaryotes.starts.model import MOTIFS, N_CLASSES, N_WORDS, SITUATIONS, StartModel
from structune.genes.prokaryotes.starts.motifs import Motif
from structune.genes.prokaryotes.structure.candidates import STARTS
from structune.genes.prokaryotes.structure.weights import CONTEXT
from structune.learning.estimator_file import check_array

Arrays = dict[str, NDArray[Any]]
_TABLES = {
    "words": (N_WORDS,),
    "codons": (len(STARTS),),
    "sites": (RUNS * SPACINGS + 1,),
    "context": (CONTEXT.size, 5),
    "neighbours": (N_NEIGHBOURS,),
    "behind": (BEHIND.size + 1,),
    "classes": (SITUATIONS, N_CLASSES),
    "background": (4,),
}


def pack(model: StartModel) -> Arrays:
    """A model as arrays."""
    found = {name: getattr(model, name) for name in _TABLES}
    for name in MOTIFS:
        motif: Motif = getattr(model, name)
        found |= {f"{name}_bases": motif.bases, f"{name}_places": motif.places}
        found[f"{name}_share"] = np.array([motif.share])
    return found


def unpack(arrays: Arrays) -> StartModel:
    """A model from what `pack` made.

    Raises
    ------
    ModelFileError
        Arrays that are missing, or of other types or shapes, or that are no probabilities.
    """
    shapes: dict[str, tuple[int, ...]] = dict(_TABLES)
    for name, (text, first, last, _) in MOTIFS.items():
        shapes |= {f"{name}_bases": (len(text), 4), f"{name}_places": (last - first + 1,)}
        shapes[f"{name}_share"] = (1,)
    if arrays.keys() != shapes.keys():
        raise ModelFileError(f"found the arrays {sorted(arrays)} of starts, expected {sorted(shapes)}")
    for name, shape in shapes.items():
        check_array(arrays, name, np.float64, shape)
    for name in ("classes", "background", *(shapes.keys() - _TABLES.keys())):
        if np.any(arrays[name] <= 0.0) or np.any(arrays[name] >= 1.0):
            raise ModelFileError(f"found {name!r} of starts that are no probabilities")
    motifs = {}
    for name, (_, first, *_) in MOTIFS.items():
        bases, places, (share,) = (arrays[f"{name}_{part}"] for part in ("bases", "places", "share"))
        motifs[name] = Motif(first, bases, places, float(share))
    known: dict[str, Any] = {name: arrays[name] for name in _TABLES} | motifs
    return StartModel(**known)
