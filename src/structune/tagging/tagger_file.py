"""A tagger's chain as the header and arrays of a model file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import ModelFileError
from structune.learning.estimator_file import Arrays, pack_names, unpack_names
from structune.tagging.structure.chain import Chain


def pack_chain(chain: Chain) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a chain."""
    header = {
        "labels": [label.item() if isinstance(label, np.generic) else label for label in chain.labels],
        "boundary": chain.boundary,
        "forbidden": chain.forbidden,
    }
    arrays = {"pair_keys": chain.pairs.keys, "transitions": chain.transitions}
    return header, arrays | pack_names("attribute", chain.attributes)


def unpack_chain(header: dict[str, Any], arrays: Arrays) -> Chain:
    """The chain that `pack_chain` packed."""
    attributes = unpack_names("attribute", arrays)
    labels, forbidden = list(header["labels"]), header["forbidden"]
    readable = labels and all(isinstance(label, str | int) for label in labels)
    if not readable or len(set(labels)) < len(labels):
        raise ModelFileError(f"found the labels {labels}, expected one at least and no two alike")
    if len(set(attributes)) < len(attributes):
        raise ModelFileError("two attributes have the same name, expected each once")
    if isinstance(forbidden, list):
        forbidden = [(a, b) for a, b in forbidden]
    ends = {"pair_keys": len(attributes) * len(labels), "transitions": len(labels) ** 2}
    for name, end in ends.items():
        keys = arrays[name]
        rising = keys.dtype == np.int64 and keys.ndim == 1 and bool(np.all(np.diff(keys) > 0))
        if not rising or (keys.size and not 0 <= keys[0] <= keys[-1] < end):
            raise ModelFileError(f"the table {name!r} is damaged")
    return Chain(
        labels, attributes, arrays["pair_keys"], arrays["transitions"], bool(header["boundary"]), forbidden
    )
