"""Model files of folders, parameter files of CONTRAfold, and the weights that another model has."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.models import load_shipped
from structune.learning.estimator_file import Arrays, entries, pack_names, unpack_names
from structune.learning.losses import Loss
from structune.rna.formats.contrafold import read_contrafold
from structune.rna.structure.rna import RNA
from structune.structure import FloatArray


def pack_rna(rna: RNA) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a structure."""
    space = {"min_hairpin": rna.min_hairpin, "noncanonical": rna.noncanonical}
    return {"rna": {**space, "features": rna.feature_set}}, pack_names("weight", rna.weight_names())


def unpack_rna(header: dict[str, Any]) -> RNA:
    """The structure that `pack_rna` packed."""
    return RNA(**entries(header["rna"], min_hairpin=int, noncanonical=bool, features=str))


def unpack_weights(rna: RNA, arrays: Arrays) -> FloatArray:
    """The weights in the order of the structure, by their names."""
    named = zip(unpack_names("weight", arrays), arrays["coef"].tolist(), strict=True)
    return rna.weights_from(dict(named))


def contrafold_weights(rna: RNA, path: str | os.PathLike[str]) -> FloatArray:
    """The weights of a parameter file of CONTRAfold."""
    named = read_contrafold(path)
    try:
        return rna.weights_from(named)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def weights_of(center: Any, rna: RNA, loss: Loss) -> FloatArray:
    """The weights of a fitted folder, or the pretrained one, for another structure; 0 where it has none.

    Raises
    ------
    DataError
        It is no fitted folder, has features that the structure does not have, or the loss has kinks.
    """
    if isinstance(center, str) and center == "pretrained":
        center = load_shipped("structune.rna")
    if not (hasattr(center, "rna_") and hasattr(center, "coef_")):
        raise DataError(f"center={center!r}: expected 'pretrained', a fitted RNAFolder, or None")
    if not loss.smooth:
        raise DataError(f"found a center and loss={loss.name!r}, expected loss='log'")
    known = dict(zip(center.rna_.weight_names(), center.coef_.tolist(), strict=True))
    if more := sorted(set(known) - set(rna.weight_names())):
        raise DataError(
            f"found features={rna.feature_set!r}, expected {center.rna_.feature_set!r}, those of the center "
            f"(it has weights such as {more[0]})"
        )
    return np.array([known.get(name, 0.0) for name in rna.weight_names()])
