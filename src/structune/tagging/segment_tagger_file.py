"""A segment tagger's chain as the header and arrays of a model file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import ModelFileError
from structune.learning.estimator_file import Arrays, check_array, check_keys, pack_names, unpack_names
from structune.structure import IntArray
from structune.tagging.features.segments import SegmentReader, check_gazetteers, forgotten
from structune.tagging.structure.segment_labels import OUTSIDE, tags_of
from structune.tagging.structure.semi_markov import SemiMarkovChain

_TABLES = ("token", "last", "span")


def pack_segments(chain: SemiMarkovChain) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a chain; the user's function of segments is left out."""
    reader = chain.reader
    header = {
        "labels": chain.labels,
        "boundary": chain.boundary,
        "words": reader.words,
        "gazetteers": {name: sorted(entries) for name, entries in reader.gazetteers.items()},
        "has_function": reader.function is not None,
    }
    arrays = {"longest": chain.longest}
    for name, attributes, table in zip(_TABLES, chain.attributes, chain.tables, strict=True):
        arrays |= {f"{name}_keys": table.keys, **pack_names(name, attributes)}
    return header, arrays


def unpack_segments(header: dict[str, Any], arrays: Arrays) -> SemiMarkovChain:
    """The chain that `pack_segments` packed."""
    labels, longest = header["labels"], arrays["longest"]
    readable = isinstance(labels, list) and labels and all(isinstance(label, str) for label in labels)
    if not readable or len(set(labels)) < len(labels):
        raise ModelFileError(f"found the labels {labels!r:.60}, expected one at least and no two alike")
    check_array(arrays, "longest", np.int64, (len(labels),))
    outside = [n for label, n in zip(labels, longest.tolist(), strict=True) if label == OUTSIDE]
    if longest.min() < 1 or outside not in ([], [1]):
        raise ModelFileError(f"found segments of up to {longest.min()} tokens, expected 1 or more; 1 outside")
    n_tags = len(tags_of(labels, longest)[0])
    attributes, keys = list[list[str]](), list[IntArray]()
    for name, n in zip(_TABLES, (n_tags, len(labels), len(labels)), strict=True):
        names = unpack_names(name, arrays)
        if len(set(names)) < len(names):
            raise ModelFileError("two attributes have the same name, expected each once")
        check_keys(arrays, f"{name}_keys", len(names) * n)
        attributes.append(names)
        keys.append(arrays[f"{name}_keys"])
    words = header["words"]
    if words is not None and not isinstance(words, str):
        raise ModelFileError(f"found the template of words {words!r:.60}, expected a str or none")
    reader = SegmentReader(
        words, check_gazetteers(header["gazetteers"]), forgotten if header["has_function"] else None
    )
    return SemiMarkovChain(labels, longest, attributes, keys, reader, bool(header["boundary"]))
