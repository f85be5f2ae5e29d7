"""Schemes of labels other than BIO and BIOES: IOB1, BILOU, BMES and BMEWO are detected and converted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

_LETTERS = {"BILOU": {"L": "E", "U": "S"}, "BMES": {"M": "I", "W": "S"}}
SCHEMES = {"IOB1": "BIO", **dict.fromkeys(_LETTERS, "BIOES")}  # and what each is converted to
Pairs = set[tuple[str | None, str]]  # labels, and those that they follow; none is before the first


def pairs_of(sentences: Iterable[Sequence[str]]) -> Pairs:
    """The pairs of neighboring labels that occur."""
    return set(chain.from_iterable(zip((None, *labels), labels, strict=False) for labels in sentences))


def detect_scheme(pairs: Pairs) -> str | None:
    """The scheme that labels must have, one of `SCHEMES`; None if they may have another."""
    parts = [label.partition("-") for _, label in pairs]
    prefixes = {prefix for prefix, *_ in parts}
    are_typed = {bool(kind) for prefix, _, kind in parts if prefix != "O"} == {True}
    if any((dash and not kind) or (dash and prefix == "O") for prefix, dash, kind in parts):
        return None
    if are_typed and {"B", "I"} <= prefixes <= set("BIO"):
        continues = {(label[0], (before or "")[1:] == label[1:]) for before, label in pairs if label != "O"}
        return "IOB1" if ("I", False) in continues and ("B", False) not in continues else None
    if are_typed and {"B", "L"} <= prefixes <= set("BILOU"):
        return "BILOU"
    if {"B", "E"} <= prefixes <= set("BMESWO") and prefixes & {"M", "W"} and not {"S", "W"} <= prefixes:
        # Single letters may mean something else, unless each segment is whole.
        are_whole = all((before in ("B", "M")) == (label in ("M", "E")) for before, label in pairs)
        return "BMES" if are_typed or are_whole else None
    return None


def converted(sentences: Sequence[Sequence[str]], scheme: str) -> list[list[str]]:
    """Labels of one of `SCHEMES` in BIO or BIOES; labels that are so already do not change."""
    if scheme == "IOB1":
        return [
            [
                "B" + label[1:] if label[:2] == "I-" and (before or "")[1:] != label[1:] else label
                for before, label in zip((None, *labels), labels, strict=False)
            ]
            for labels in sentences
        ]
    letters = _LETTERS[scheme]
    known = {
        label: letters.get(label[:1], label[:1]) + label[1:] if label[1:2] in ("", "-") else label
        for label in set(chain.from_iterable(sentences))
    }
    return [list(map(known.__getitem__, labels)) for labels in sentences]
