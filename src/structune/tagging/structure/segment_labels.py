"""Labels in BIO or BIOES as typed segments, and back; tags of segments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import IntArray, offsets_of, place_of
from structune.tagging.structure.labels import check_lengths

OUTSIDE = "O"  # the label of tokens that are in no segment: each is one of its own, of one token
_LABEL = re.compile(r"(O)|([BIES])(?:-(?!O$)(.+))?")  # no segment is of the type O


@dataclass(frozen=True)
class Segmentation:
    """Segments of a batch of sequences, one after the other; tokens outside are segments of one token."""

    offsets: IntArray  # tokens of sequence s are offsets[s]:offsets[s + 1]
    starts: IntArray  # tokens of each segment, counted over all sequences
    stops: IntArray
    types: list[str]  # "O" outside; empty for segments whose labels are B and I alone
    scheme: str  # "bioes" if some label begins with E or S, else "bio"

    def place(self, segment: int) -> tuple[int, int, int]:
        """The sequence of a segment, and its start and stop there."""
        sequence, start = place_of(int(self.starts[segment]), np.diff(self.offsets))
        return sequence, start, start + int(self.stops[segment] - self.starts[segment])


def read_segments(outputs: Any, lengths: IntArray) -> Segmentation:
    """The segments that labels spell, read as conlleval does: an ``I-x`` that continues nothing begins one.

    Parameters
    ----------
    outputs : sequence of sequences of str
        ``O``, or one such as ``B-x``, ``I-x``, ``E-x``, ``S-x``.
    lengths : ndarray of int64, shape (n_sequences,)
        Tokens expected in each sequence.

    Raises
    ------
    DataError
        Names the sequence and token of a label that is unknown, partial or of no scheme.
    """
    check_lengths(outputs, lengths)
    flat = [label for sequence in outputs for label in sequence]
    parts: dict[Any, tuple[str, str]] = {}
    for t, label in enumerate(flat):
        if not isinstance(label, str) or label not in parts:
            match = _LABEL.fullmatch(label) if isinstance(label, str) else None
            if match is None:
                s, token = place_of(t, lengths)
                raise DataError(
                    f"sequence {s}, token {token}: found the label {label!r}, expected O or one such as "
                    "B-x, I-x, E-x, S-x"
                )
            parts[label] = (OUTSIDE, OUTSIDE) if match[1] else (match[2], match[3] or "")
    prefixes, types = [parts[label][0] for label in flat], [parts[label][1] for label in flat]
    offsets = offsets_of(lengths)
    firsts = set(offsets.tolist())
    starts = [
        t
        for t, prefix in enumerate(prefixes)
        if prefix in "OBS" or t in firsts or prefixes[t - 1] in "OES" or types[t - 1] != types[t]
    ]
    return Segmentation(
        offsets,
        np.array(starts, dtype=np.int64),
        np.array([*starts[1:], len(flat)][: len(starts)], dtype=np.int64),
        [types[t] for t in starts],
        scheme_of(parts),
    )


def scheme_of(labels: Iterable[str]) -> str:
    """ "bioes" if some label begins with E or S, else "bio"."""
    return "bioes" if any(label[0] in "ES" for label in labels) else "bio"


def write_labels(types: Sequence[str], lengths: Sequence[int], scheme: str) -> list[str]:
    """The labels of segments that follow one another."""
    labels: list[str] = []
    for kind, n in zip(types, lengths, strict=True):
        if kind == OUTSIDE:
            labels.append(OUTSIDE)
            continue
        prefixes = ["B", *"I" * (n - 1)]
        if scheme == "bioes":
            prefixes[-1] = "S" if n == 1 else "E"
        labels += [label_of(prefix, kind) for prefix in prefixes]
    return labels


def label_of(prefix: str, kind: str) -> str:
    """``B-x`` of ``B`` and ``x``; the prefix alone for segments without a type."""
    return f"{prefix}-{kind}" if kind else prefix


def tags_of(labels: Sequence[str], longest: IntArray) -> tuple[list[str], IntArray]:
    """The tags of segments of these labels, and the one each label begins with; the next one goes on."""
    tags, begin = list[str](), list[int]()
    for label, n in zip(labels, longest.tolist(), strict=True):
        begin.append(len(tags))
        tags.append(OUTSIDE if label == OUTSIDE else label_of("B", label))
        if n > 1:
            tags.append(label_of("I", label))
    return tags, np.array(begin, dtype=np.int64)
