"""Model files of CRFsuite, read as taggers.

A file has a header; the features, 20 bytes each; and the names of labels and of attributes, each set as a
constant database: records of number, length and text, found by an array of their places at its end.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from structune.errors import ModelFileError
from structune.files.models import load
from structune.structure import Array, FloatArray, IntArray
from structune.tagging.structure.chain import Chain
from structune.tagging.tagger import SequenceTagger

_MAGIC = b"lCRF"
_NUMBERS = (
    *("size", "type", "version", "n_features", "n_labels", "n_attributes"),
    *("features", "labels", "attributes"),
)
_FEATURE = np.dtype([("is_transition", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_TYPE, _VERSION = int.from_bytes(b"FOMC", "little"), 100


def is_crfsuite(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a model of CRFsuite."""
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def load_either(path: str | os.PathLike[str]) -> Any:
    """A model of CRFsuite as a tagger, or what `structune.load` reads."""
    return read_crfsuite(path) if is_crfsuite(path) else load(path)


def read_crfsuite(path: str | os.PathLike[str]) -> SequenceTagger:
    """Load a model of CRFsuite, python-crfsuite or sklearn-crfsuite as a tagger with the same predictions.

    Attributes must have the names that they have in CRFsuite: ``{"word": "the"}`` is ``word:the`` there, but
    ``word=the`` here. `structune.compat.CRF`, with the file as `model_filename`, converts the names.

    Raises
    ------
    ModelFileError
        The file is not a model of CRFsuite, is damaged, or has another type or version.
    """
    data = Path(path).read_bytes()
    if data[:4] != _MAGIC:
        raise ModelFileError(f"{path}: not a model of CRFsuite, as the file does not begin with 'lCRF'")
    try:
        return _unpack(data)
    except (ValueError, IndexError) as error:
        raise ModelFileError(f"{path}: the model of CRFsuite cannot be read: {error}") from None


def _unpack(data: bytes) -> SequenceTagger:
    header = dict(zip(_NUMBERS, _integers(data, 4, len(_NUMBERS)), strict=True))
    if (header["type"], header["version"]) != (_TYPE, _VERSION):
        found = f"type {header['type'].to_bytes(4, 'little')!r} and version {header['version']}"
        raise ModelFileError(f"it has {found}, but only first-order models of version {_VERSION} can be read")
    if header["size"] != len(data):
        raise ModelFileError(f"the file has {len(data):,} bytes, but its header says {header['size']:,}")
    labels = _names(data[header["labels"] :], header["n_labels"])
    attributes = _names(data[header["attributes"] :], header["n_attributes"])
    (n_features,) = _integers(data, header["features"] + 8, 1)
    features = np.frombuffer(data, _FEATURE, n_features, header["features"] + 12)
    # A feature is of an attribute with a label, or of two labels: a damaged file may name others.
    n_sources = np.where(features["is_transition"] == 0, len(attributes), len(labels))
    if np.any((features["source"] >= n_sources) | (features["label"] >= len(labels))):
        raise ModelFileError(
            f"a feature has an index beyond {len(attributes):,} attributes or {len(labels):,} labels"
        )
    if not np.isfinite(features["weight"]).all():
        raise ModelFileError("a weight is not a finite number")
    is_pair = features["is_transition"] == 0
    pairs, edges = features[is_pair], features[~is_pair]
    order = np.argsort(-np.bincount(pairs["source"], minlength=len(attributes)), kind="stable")  # is fast
    pair_keys, pair_weights = _sorted(np.argsort(order)[pairs["source"]], pairs, len(labels))
    edge_keys, edge_weights = _sorted(edges["source"].astype(np.int64), edges, len(labels))
    names = [attributes[a] for a in order.tolist()]
    tagger = SequenceTagger(transitions="seen", boundary=False)
    tagger.with_structure(Chain(labels, names, pair_keys, edge_keys, boundary=False))
    tagger._import(np.concatenate((pair_weights, edge_weights)))
    return tagger


def _names(data: bytes, n: int) -> list[str]:
    """The texts of a database by their numbers."""
    (places,) = _integers(data, 20, 1)
    names = []
    for place in _integers(data, places, n):
        # A record is its number, its length with the byte of 0 at the end, and the text.
        _, length = _integers(data, place, 2)
        names.append(data[place + 8 : place + 8 + length - 1].decode(errors="surrogateescape"))
    if len(set(names)) < n:
        raise ModelFileError("two of its labels, or two of its attributes, have the same name")
    return names


def _integers(data: bytes, place: int, n: int) -> list[int]:
    found: list[int] = np.frombuffer(data, "<u4", n, place).tolist()
    return found


def _sorted(sources: IntArray, features: Array, n_labels: int) -> tuple[IntArray, FloatArray]:
    """Keys of features as a `Chain` has them, and the weights in their order."""
    keys, first = np.unique(sources * n_labels + features["label"], return_index=True)
    if keys.size < features.size:
        raise ModelFileError("a feature occurs twice")
    return keys, features["weight"][first].astype(np.float64)
