"""Sequences of known structure by families, for benchmarks that hold whole families out.

Those of up to 300 bases of training set A, chains of solved structures, Rfam (of families with a published
structure) and ArchiveII. Names of sets are merged; what has none, or that of a mixed set, belongs to the
family of the sequence with which it shares most of its words of 12 bases, or to one of its own. As names may
be wrong, what is alike to a sequence that is tested is to be left out of what is learned from, too.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structune.rna import load_rna

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import rna as recipe

SETS = ("tornado_train_a", "rna3db", "rfam1359", "archiveii")
SHORTEST, LONGEST = 20, 300
ALIKE, NEAR = 0.12, 0.15  # shares of words: with a family that has a name, among those that have none
_ARCHIVE = {
    "5s": "5S rRNA",
    "srp": "SRP",
    "RNaseP": "RNase P",
    "16s": "16S rRNA",
    "grp1": "group I intron",
    "23s": "23S rRNA",
    "grp2": "group II intron",
}
_NAMES = {
    "RF00001": "5S rRNA",
    "RF00005": "tRNA",
    "RF00017": "SRP",
    "RF00023": "tmRNA",
    "RF00008": "hammerhead",
    "RF00163": "hammerhead",
    "RF00028": "group I intron",
    "RF00009": "RNase P",
    "RF00010": "RNase P",
    "RF00011": "RNase P",
    "RF00024": "telomerase",
    "RF00029": "group II intron",
    "Group II Intron": "group II intron",
}


@dataclass(frozen=True)
class Known:
    """A sequence, its structure and its family."""

    sequence: str
    structure: str
    family: str


def by_families(quick: bool = False) -> list[Known]:
    """All of them, each sequence once."""
    found = dict[str, tuple[str, str | None]]()  # structure and, where there is one, the name
    for name in SETS:
        data = load_rna(name)
        several = Counter(data.families)
        for family, text, structure in zip(data.families, data.sequences, data.structures, strict=True):
            sequence = text.upper().replace("T", "U")
            if name == "rfam1359" and several[family] < 2:
                continue  # predicted structures
            if not SHORTEST <= len(sequence) <= (80 if quick else LONGEST) or "(" not in structure:
                continue
            found.setdefault(sequence, (structure, name_of(name, family)))
    names = _assigned({sequence: name for sequence, (_, name) in found.items()})
    return [Known(sequence, found[sequence][0], name) for sequence, name in names.items()]


def name_of(data: str, family: str) -> str | None:
    """The one name of a family; none for chains, whose components mix them, and mixed sets."""
    if data == "rna3db" or "CRW" in family:
        return None
    if data == "archiveii":
        return _ARCHIVE.get(family, family)
    name = recipe.family_of(family)
    if recipe.is_mixed(name):
        return None
    accession = name.removeprefix("S151Rfam:").removeprefix("strand:").split(":")[0]
    return _NAMES.get(accession, accession)


class Alike:
    """Finds those of some sequences that have words in common with another."""

    def __init__(self, sequences: Iterable[str]) -> None:
        self._sizes, self._places = dict[str, int](), defaultdict[str, list[str]](list)
        for sequence in sequences:
            own = recipe.words(sequence)
            self._sizes[sequence] = len(own)
            for word in own:
                self._places[word].append(sequence)

    def __call__(self, sequence: str) -> list[tuple[float, str]]:
        """Shares of the words of the shorter, and the sequences, beginning with the most alike."""
        own = recipe.words(sequence)
        shared = Counter(other for word in own for other in self._places.get(word, ()))
        least = {other: min(len(own), self._sizes[other]) for other in shared}
        return sorted(((n / least[other], other) for other, n in shared.items()), reverse=True)


def unlike(sequences: Iterable[str], tested: Iterable[str]) -> list[int]:
    """The places of those that are not alike to any that is tested."""
    alike = Alike(tested)
    nearest = (alike(sequence)[:1] for sequence in sequences)
    return [k for k, near in enumerate(nearest) if not near or near[0][0] < ALIKE]


def _assigned(names: dict[str, str | None]) -> dict[str, str]:
    """A family for each sequence."""
    alike = Alike(names)
    found = {sequence: name for sequence, name in names.items() if name is not None}
    lone = dict[str, str]()
    for sequence in (sequence for sequence, name in names.items() if name is None):
        near = [one for one in alike(sequence) if one[1] != sequence]
        best = next(((share, names[other]) for share, other in near if names[other] is not None), (0.0, None))
        if best[0] >= ALIKE and best[1] is not None:
            found[sequence] = best[1]
            continue
        own = {lone[other] for share, other in near if share >= NEAR and other in lone}
        name = min(own, default=f"alone {len(lone)}")
        lone = {other: name if before in own else before for other, before in lone.items()}
        lone[sequence] = name
    return {sequence: found.get(sequence) or lone[sequence] for sequence in names}


def dealt(known: list[Known], n_folds: int, seed: int) -> dict[str, int]:
    """The fold of each family; the largest are spread over all."""
    rng = np.random.default_rng(seed)
    sizes = Counter(one.family for one in known)
    large = [family for family, _ in sizes.most_common(2 * n_folds)]
    small = sorted(set(sizes) - set(large))
    order = [*rng.permutation(large), *rng.permutation(small)]
    return {str(family): k % n_folds for k, family in enumerate(order)}


def some_of_each(known: list[Known], most: int, seed: int) -> list[Known]:
    """At most so many of each family, at random."""
    order = np.random.default_rng(seed).permutation(len(known))
    seen, found = Counter[str](), list[Known]()
    for one in (known[k] for k in order):
        seen[one.family] += 1
        if seen[one.family] <= most:
            found.append(one)
    return found
