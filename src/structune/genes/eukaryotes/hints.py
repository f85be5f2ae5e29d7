"""What hints are worth at the sites and bases of a sequence."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from structune.errors import DataError
from structune.genes.eukaryotes.structure.nodes import SIGNALS
from structune.genes.eukaryotes.structure.scores import Evidence
from structune.genes.formats.hints import HINTS, Hint
from structune.structure import Array, FloatArray, IntArray

WEIGHT, MOST_WEIGHT = 6.0, 1000.0  # of a hint that is sure: log odds
_SURE = 10.0  # support from which on it is
_CODING = 100.0  # bases of a CDS that are worth as much as an intron
_NEVER = -1000.0  # of a base to be avoided: so many hints do not make up for it
_MOST = 1 << 50  # bases
_STRANDS = {"+": (0,), "-": (1,), ".": (0, 1)}


@dataclass(frozen=True)
class Hints:
    """Those of a sequence: what they say of its sites, and of coding bases.

    Parameters
    ----------
    sites : ndarray, shape (n_sites, 4)
        Signal, strand, position and worth of each.
    parts : ndarray, shape (n_parts, 4)
        Of parts of coding sequences, and of what is to be avoided: where they begin and end, the strand, and
        what each base is worth.
    """

    sites: FloatArray
    parts: FloatArray

    @classmethod
    def of(cls, hints: Iterable[Hint], name: str, weight: float, avoid: IntArray) -> Hints:
        """Those of the sequence of a name, and spans that no coding base lies in."""
        sites, parts = list[tuple[float, ...]](), list[tuple[float, ...]]()
        for hint in hints:
            _check(hint, name)
            worth = weight * min(1.0, float(np.log1p(hint.support) / np.log1p(_SURE)))
            if hint.kind == "CDS":
                parts += [(hint.start, hint.end, k, worth / _CODING) for k in _STRANDS[hint.strand]]
            else:
                sites += _sites(hint, worth)
        never = _NEVER * max(1.0, weight)
        parts += [(start, end, k, never) for start, end in avoid.tolist() for k in (0, 1)]
        return cls(np.array(sites, np.float64).reshape(-1, 4), np.array(parts, np.float64).reshape(-1, 4))

    @classmethod
    def none(cls) -> Hints:
        """Of a sequence of which nothing is known."""
        return cls(np.zeros((0, 4)), np.zeros((0, 4)))

    def evidence(self, start: int, n: int, nodes: Mapping[str, Array]) -> Evidence:
        """What they add to the scores of n bases from `start` on, with the sites of those."""
        inside = (self.sites[:, 2] >= start) & (self.sites[:, 2] <= start + n)
        signal, reverse, position, worth = self.sites[inside].T
        wanted = _keys(signal, reverse, position - start, n)
        known = _keys(nodes["site_signal"], nodes["site_reverse"], nodes["site_position"], n)
        found, coding = np.zeros(known.size), np.zeros((n, 2))
        if known.size:
            place = np.searchsorted(known, wanted).clip(0, known.size - 1)
            same = known[place] == wanted
            np.maximum.at(found, place[same], worth[same])
        near = (self.parts[:, 1] > start) & (self.parts[:, 0] < start + n)
        for a, b, strand, each in self.parts[near].tolist():
            bases = coding[max(0, int(a) - start) : int(b) - start, int(strand)]
            bases[:] = each if each < 0 else np.maximum(bases, each)
        return Evidence(found, coding)


def _keys(signal: Array, reverse: Array, position: Array, n: int) -> IntArray:
    """A number for each site; sites of a sequence come by it."""
    keys = (2 * signal.astype(np.int64) + reverse.astype(np.int64)) * (n + 1) + position.astype(np.int64)
    return np.asarray(keys)


def _sites(hint: Hint, worth: float) -> list[tuple[float, ...]]:
    """Signal, strand, position and worth of the sites that a hint is of: it may be of either strand."""
    found: list[tuple[float, ...]] = []
    for reverse in _STRANDS[hint.strand]:
        ends = (hint.start, hint.end)[:: -1 if reverse else 1]
        if hint.kind == "intron":
            found += [
                (SIGNALS.index(name), reverse, position, worth / 2)
                for name, position in zip(("donor", "acceptor"), ends, strict=True)
            ]
        else:  # a gene begins where its start codon does, and ends behind its stop codon
            position = ends[hint.kind in ("stop", "acceptor")]
            found.append((SIGNALS.index(hint.kind), reverse, position, worth))
    return found


def _check(hint: Hint, name: str) -> None:
    try:
        is_right = hint.kind in HINTS and hint.strand in _STRANDS
        is_right &= 0 <= operator.index(hint.start) < operator.index(hint.end) < _MOST
        is_right &= 0 <= float(hint.support) < np.inf
    except (AttributeError, TypeError, ValueError, OverflowError):
        is_right = False
    if not is_right:
        raise DataError(
            f"{name}: found {hint!r:.80}, expected a Hint of one of {', '.join(HINTS)}, "
            "with 0 <= start < end, a strand and a support >= 0"
        )
