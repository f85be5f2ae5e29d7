"""A tagger's chain as the header and arrays of a model file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import ModelFileError
from structune.learning.estimator_file import Arrays, check_keys, pack_names, unpack_names
from structune.tagging.structure.inference import ChainInference
from structune.tagging.structure.orders import chain_class


def pack_chain(chain: ChainInference) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a chain."""
    header = {
        "order": chain.order,
        "labels": [label.item() if isinstance(label, np.generic) else label for label in chain.labels],
        "boundary": chain.boundary,
        "forbidden": chain.forbidden,
    }
    arrays = {"pair_keys": chain.pairs.keys, **chain.move_keys}
    return header, arrays | pack_names("attribute", chain.attributes)


def unpack_chain(header: dict[str, Any], arrays: Arrays) -> ChainInference:
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
    n, order = len(labels), header["order"]
    ends = {"pair_keys": len(attributes) * n, "transitions": n**2}
    if order == 2:
        ends["trigrams"] = (n + 1) ** 2 * n
    for name, end in ends.items():
        check_keys(arrays, name, end)
    keys = {name: arrays[name] for name in ends}
    return chain_class(order)(
        labels, attributes, boundary=bool(header["boundary"]), forbidden=forbidden, **keys
    )
