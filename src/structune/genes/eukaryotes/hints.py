"""What hints are worth at the sites and bases of a sequence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from structune.errors import DataError
from structune.genes.eukaryotes.structure.nodes import SIGNALS
from structune.genes.eukaryotes.structure.scores import Evidence
from structune.genes.formats.hints import HINTS, Hint
from structune.structure import Array, FloatArray, IntArray

WEIGHT = 6.0  # of a hint that is sure: log odds
_SURE = 10.0  # support from which on it is
_CODING = 100.0  # bases of a CDS that are worth as much as an intron
_NEVER = -1e3  # of a base to be avoided


@dataclass(frozen=True)
class Hints:
    """Those of a sequence: what they say of its sites, and of coding bases.

    ``signal``, ``reverse``, ``position`` and ``worth`` of each site; ``starts`` and ``ends`` of coding parts,
    and of what is to be avoided, and what ``each`` of their bases is worth.
    """

    signal: IntArray
    reverse: IntArray
    position: IntArray
    worth: FloatArray
    starts: IntArray
    ends: IntArray
    each: FloatArray

    @classmethod
    def of(cls, hints: Iterable[Hint], name: str, weight: float, avoid: IntArray) -> Hints:
        """Those of the sequence of a name, and spans that no coding base lies in."""
        sites, coding = list[tuple[float, ...]](), list[tuple[float, ...]]()
        for hint in hints:
            _check(hint, name)
            worth = weight * min(1.0, float(np.log1p(hint.support) / np.log1p(_SURE)))
            if hint.kind == "CDS":
                coding.append((hint.start, hint.end, worth / _CODING))
            else:
                sites += _sites(hint, worth)
        coding += [(start, end, _NEVER) for start, end in avoid.tolist() if start < end]
        signal, reverse, position, worths = np.array(sites, np.float64).reshape(-1, 4).T
        starts, ends, each = np.array(coding, np.float64).reshape(-1, 3).T
        return cls(
            signal.astype(np.int64),
            reverse.astype(np.int64),
            position.astype(np.int64),
            worths,
            starts.astype(np.int64),
            ends.astype(np.int64),
            each,
        )

    def evidence(self, start: int, n: int, nodes: Mapping[str, Array]) -> Evidence:
        """What they add to the scores of n bases from `start` on, with the sites of those."""
        where = self.position - start
        inside = (where >= 0) & (where <= n)
        wanted = _keys(self.signal[inside], self.reverse[inside], where[inside], n)
        known = _keys(nodes["site_signal"], nodes["site_reverse"], nodes["site_position"], n)
        sites, coding = np.zeros(known.size), np.zeros(n)
        if known.size:
            place = np.searchsorted(known, wanted).clip(0, known.size - 1)
            same = known[place] == wanted
            np.maximum.at(sites, place[same], self.worth[inside][same])
        for k in np.flatnonzero((self.ends > start) & (self.starts < start + n)).tolist():
            part = coding[max(0, self.starts[k] - start) : self.ends[k] - start]
            part[:] = _NEVER if self.each[k] < 0 else np.maximum(part, self.each[k])
        return Evidence(sites, coding)


def _keys(signal: Array, reverse: Array, position: Array, n: int) -> IntArray:
    """A number for each site; sites of a sequence come by it."""
    return (2 * signal.astype(np.int64) + reverse) * (n + 1) + position


def _sites(hint: Hint, worth: float) -> list[tuple[float, ...]]:
    """Signal, strand, position and worth of the sites that a hint is of: it may be of either strand."""
    found: list[tuple[float, ...]] = []
    for reverse in [k for k, strand in enumerate("+-") if hint.strand in (strand, ".")]:
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
    if not isinstance(hint, Hint) or hint.kind not in HINTS or hint.strand not in ("+", "-", "."):
        raise DataError(f"{name}: found {hint!r:.80}, expected a Hint of one of {', '.join(HINTS)}")
    if not (0 <= hint.start < hint.end and 0 <= hint.support < np.inf):
        raise DataError(f"{name}: found {hint!r:.80}, expected 0 <= start < end, and a support >= 0")
