"""Schemes of labels other than BIO and BIOES: IOB1, BILOU, BMES and BMEWO are detected and converted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from structune.errors import DataError, warn
from structune.files.text import plural
from structune.tagging.structure.labels import fits, segment_scheme

_LETTERS = {"BILOU": {"L": "E", "U": "S"}, "BMES": {"M": "I", "W": "S"}}
SCHEMES = {"IOB1": "BIO", **dict.fromkeys(_LETTERS, "BIOES")}  # and what each is converted to
Pairs = set[tuple[str | None, str]]  # labels, and those that they follow; none is before the first


def pairs_of(sentences: Iterable[Sequence[str]]) -> Pairs:
    """The pairs of neighboring labels that occur; the end counts as O."""
    return set(chain.from_iterable(zip((None, *labels), (*labels, "O"), strict=True) for labels in sentences))


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


def scheme_name(pairs: Pairs) -> str | None:
    """One of `SCHEMES`, BIO, BIOES, or IO, which may be IOB1; None for labels of no segments."""
    labels = {label for label, _ in pairs if label is not None}
    known = segment_scheme(labels)
    has_starts = known == "bioes" or any(label[:1] == "B" for label in labels)
    return detect_scheme(pairs) or (known and (known.upper() if has_starts else "IO"))


def common_scheme(files: Mapping[str, Pairs]) -> str | None:
    """The one of `SCHEMES` that the labels of some files have, of which it warns, or None.

    Warns of broken segments, and if some files are BIO and others BIOES; `DataError` for other mixtures.
    """
    names = {file: scheme for file, pairs in files.items() if (scheme := scheme_name(pairs))}
    found = {scheme: file for file, scheme in names.items()}
    if not found.keys() & SCHEMES and (scheme := detect_scheme(Pairs().union(*files.values()))):
        found = {scheme: next(iter(files))}  # no file alone tells it
    known = found.keys() & SCHEMES
    same = {"IO": "BIO"} | SCHEMES if known else {}  # after they are converted
    if len(known) > 1 or len({same.get(scheme, scheme) for scheme in found}) > 1:
        told = " and ".join(f"{scheme} in {file}" for scheme, file in found.items())
        told = f"the labels are {told}. Convert all files to one scheme"
        if known:
            raise DataError(told)
        warn(told)
    hows = {} if "IOB1" in known else {file: _broken(files[file], scheme) for file, scheme in names.items()}
    broken = [file for file, how in hows.items() if how]
    for file in broken[:1]:
        told = f"the labels are {names[file]}, but a segment {hows[file]}. Check that all are of one scheme"
        warn(f"{file}: {told}{also_in(len(broken) - 1)}")
    for scheme in known:
        warn(f"{found[scheme]}: the labels are {scheme} and are converted to {SCHEMES[scheme]}")
    return next(iter(known), None)


def also_in(n_files: int) -> str:
    """The end of a warning that names one file, but is about others, too."""
    return f", also in {plural(n_files, 'other file')}" * (n_files > 0)


def _broken(pairs: Pairs, scheme: str) -> str:
    """How labels break their scheme; an empty text if they do not."""
    letters, rule = _LETTERS.get(scheme, {}), SCHEMES.get(scheme, scheme).lower()
    for before, label in sorted(pairs, key=str) if scheme != "IO" else ():
        parts = [(each or "O").partition("-")[::2] for each in (before, label)]
        own = [(letters.get(prefix, prefix), kind) for prefix, kind in parts]
        if not fits(own[0], own[1], rule):
            return f"begins with {label!r}" if own[1][0] in "IE" else f"ends with {before!r}"
    return ""


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
