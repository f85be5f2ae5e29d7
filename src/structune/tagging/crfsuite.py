"""Model files of CRFsuite, read as taggers, and written.

A file has a header; the features, 20 bytes each; and the names of labels and of attributes, each set as a
constant database: records of number, length and text, found by an array of their places at its end.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from structune.errors import CapabilityError, ModelFileError
from structune.files.models import load, replace_file
from structune.structure import Array, FloatArray, IntArray
from structune.tagging.structure.chain import Chain
from structune.tagging.tagger import SequenceTagger

_MAGIC = b"lCRF"
_NUMBERS = (
    *("size", "type", "version", "n_features", "n_labels", "n_attributes"),
    *("features", "labels", "attributes"),
)
_FEATURE = np.dtype([("is_transition", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_HEADER, _TABLES, _BYTE_ORDER = 48, 256, 0x62445371  # bytes; of a database
# steps of the hash: which of a, b, c change by which, and how far bits are rotated
_MIX = ((0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))
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


def write_crfsuite(tagger: SequenceTagger, path: str | os.PathLike[str]) -> None:
    """Save a tagger, or a `structune.compat.CRF`, in the format of CRFsuite, which other programs read.

    Attributes keep their names: CRFsuite calls ``{"word": "the"}`` ``word:the``, and structune ``word=the``,
    unless `structune.compat` trained the model. Weights of zero are not written.

    Raises
    ------
    CapabilityError
        The model is of second order, forbids transitions, or has weights of starts and ends. Train with
        ``boundary=False``. Or a name is not a string that UTF-8 can encode, or has a NUL character.
    """
    model: Any = getattr(getattr(tagger, "tagger_", tagger), "model", tagger)  # a `structune.compat.CRF`'s
    if not isinstance(model, SequenceTagger) and hasattr(model, "coef_"):
        raise CapabilityError(f"CRFsuite has no {type(model).__name__}. Train a SequenceTagger")
    model._check_fitted()
    chain = model.chain_
    labels, attributes = (list(map(_bytes_of, names)) for names in (chain.labels, chain.attributes))
    if type(chain) is not Chain or chain.boundary or model.forbidden is not None:
        raise CapabilityError(
            "CRFsuite's format has only models of first order without forbidden transitions and without "
            "weights of starts and ends. Train with order=1, forbidden=None and boundary=False"
        )
    weights, n_labels, n_attributes = model.coef_, len(labels), len(attributes)
    features = np.empty(weights.size, _FEATURE)
    keys = np.concatenate([chain.pairs.keys, chain.transitions])
    features["is_transition"] = np.arange(weights.size) >= chain.pairs.size
    features["source"], features["label"] = np.divmod(keys, n_labels)
    features["weight"] = weights
    features = features[weights != 0.0]
    is_pair, numbers = features["is_transition"] == 0, np.arange(features.size)
    references = [
        (b"LFRF", n_labels, n_labels + 2, features["source"][~is_pair], numbers[~is_pair]),
        (b"AFRF", n_attributes, n_attributes, features["source"][is_pair], numbers[is_pair]),
    ]
    head = np.array([12 + features.nbytes, features.size], "<u4").tobytes()
    chunks = [b"FEAT" + head + features.tobytes(), _database(labels), _database(attributes)]
    place, places = _HEADER, list[int]()
    for chunk in chunks:
        places.append(place)
        place += len(chunk)
    chunks.append(b"\0" * (-place % 4))
    place += -place % 4
    for magic, n, n_places, sources, own in references:
        chunk = _references(magic, n, n_places, sources, own, place)
        chunks.append(chunk)
        places.append(place)
        place += len(chunk)
    # 0 features here, as CRFsuite writes: the count is in the header of their chunk
    header = [place, _TYPE, _VERSION, 0, n_labels, n_attributes, *places]
    replace_file(Path(path), _MAGIC + np.array(header, "<u4").tobytes() + b"".join(chunks))


def _bytes_of(name: Any) -> bytes:
    """The name of a label or attribute as CRFsuite has it, which ends names at a NUL."""
    if isinstance(name, str) and "\0" not in name:
        with suppress(UnicodeEncodeError):
            return name.encode(errors="surrogateescape")
    told = "names must be strings, in UTF-8 without NUL"
    raise CapabilityError(f"CRFsuite cannot read the name {name!r}: {told}")


def _references(magic: bytes, n: int, n_places: int, sources: Array, numbers: IntArray, start: int) -> bytes:
    """The numbers of the features of each label or attribute, found by places in the file."""
    order = np.argsort(sources, kind="stable")
    sizes = np.bincount(sources, minlength=n)
    lists = np.split(numbers[order], np.cumsum(sizes)[:-1])
    places = np.zeros(n_places, "<u4")
    places[:n] = start + 12 + 4 * n_places + np.concatenate([[0], np.cumsum(4 + 4 * sizes)[:-1]])
    body = b"".join(np.concatenate([[own.size], own]).astype("<u4").tobytes() for own in lists)
    size = 12 + 4 * n_places + len(body)
    return magic + np.array([size, n_places], "<u4").tobytes() + places.tobytes() + body


def _database(names: list[bytes]) -> bytes:
    """A constant database of names: records, 256 hash tables, and the places of the records by number."""
    texts = [name + b"\0" for name in names]
    sizes = np.array([8 + len(text) for text in texts], np.int64)
    first = 24 + 8 * _TABLES
    places = first + np.cumsum(sizes) - sizes
    records = b"".join(np.array([k, len(text)], "<u4").tobytes() + text for k, text in enumerate(texts))
    hashes = _jenkins(texts)
    tables, found, place = list[bytes](), np.zeros((_TABLES, 2), "<u4"), first + len(records)
    for t in range(_TABLES):
        own = np.flatnonzero(hashes % _TABLES == t)
        if not own.size:
            continue
        buckets = np.zeros((2 * own.size, 2), "<u4")
        for k in own.tolist():
            at = int(hashes[k] // 256) % len(buckets)
            while buckets[at, 1]:
                at = (at + 1) % len(buckets)
            buckets[at] = hashes[k], places[k]
        found[t] = place, len(buckets)
        tables.append(buckets.tobytes())
        place += buckets.nbytes
    back = places.astype("<u4").tobytes()
    head = np.array([place + len(back), 0, _BYTE_ORDER, len(texts), place if texts else 0], "<u4").tobytes()
    return b"CQDB" + head + found.tobytes() + records + b"".join(tables) + back


def _jenkins(texts: list[bytes]) -> IntArray:
    """The hash of each text, by Bob Jenkins' ``hashlittle`` (lookup3, 2006)."""
    lengths = np.array([len(text) for text in texts], np.int64)
    n_blocks = np.maximum(1, -(-lengths // 12))
    found = np.empty(len(texts), np.int64)
    with np.errstate(over="ignore"):
        for n in np.unique(n_blocks).tolist():
            rows = np.flatnonzero(n_blocks == n)
            padded = b"".join(texts[k].ljust(12 * n, b"\0") for k in rows.tolist())
            words = np.frombuffer(padded, "<u4").reshape(rows.size, n, 3).astype(np.uint32)
            abc = np.repeat(((0xDEADBEEF + lengths[rows]) % (1 << 32)).astype(np.uint32)[None], 3, axis=0)
            for block in range(n):
                abc += words[:, block].T
                for x, y, z, k in _MIX if block < n - 1 else ():
                    abc[x] -= abc[y]
                    abc[x] ^= (abc[y] << np.uint32(k)) | (abc[y] >> np.uint32(32 - k))
                    abc[y] += abc[z]
            for x, y, k in _FINAL:
                abc[x] ^= abc[y]
                abc[x] -= (abc[y] << np.uint32(k)) | (abc[y] >> np.uint32(32 - k))
            found[rows] = abc[2]
    return found


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
