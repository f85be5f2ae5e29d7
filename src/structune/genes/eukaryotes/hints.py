"""Hints and regions to avoid as scores of the sites and bases of a sequence."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.genes.eukaryotes.kernels.nodes import Nodes
from structune.genes.eukaryotes.structure.exon_graph import Evidence
from structune.genes.eukaryotes.structure.weights import ACCEPTOR, SIGNALS, START, STOPS, GeneRules
from structune.genes.formats.dna import without_u
from structune.genes.formats.hints import BEYOND, CUT, HINTS, Hint, place_of, tell_misplaced
from structune.genes.formats.record import AnnotatedSequence, along_strand
from structune.genes.inputs import checked_regions
from structune.structure import FloatArray, IntArray

WEIGHT, _MOST_WEIGHT = 6.0, 1000.0  # of a hint that is sure: log odds
_SURE = 10.0  # support from which on it is
_CODING = 100.0  # bases of a CDS that are worth as much as an intron
_NEVER = -1000.0  # of a base to be avoided: so many hints do not make up for it
_MOST = 1 << 50  # bases
_STRANDS = {"+": (0,), "-": (1,), ".": (0, 1)}
_NOWHERE = "at positions where the model has no gene ends or introns"


@dataclass(frozen=True)
class Hints:
    """The hints of a sequence, as scores of its sites and coding bases.

    ``sites`` (n_sites, 5): signal, strand, position and score of each, and the number of its hint, -1 for
    none. ``parts`` (n_parts, 4), coding sequences and regions to avoid: start, end, strand, and score of each
    base. ``misplaced``: how many of the ``n`` hints have no effect, or only a part of it, by reason.
    """

    sites: FloatArray
    parts: FloatArray
    n: int = 0
    misplaced: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(
        cls, hints: Sequence[Hint], name: str, weight: float, avoid: IntArray, text: str, rules: GeneRules
    ) -> Hints:
        """The hints that genes of a sequence can have, and the regions without coding bases."""
        sites, parts = list[tuple[float, ...]](), list[tuple[float, ...]]()
        misplaced = Counter[str]()
        for number, hint in enumerate(hints):
            _check(hint, name)
            if reason := _misplaced(hint, text, rules):
                misplaced[reason] += 1
                if reason != CUT:
                    continue
            # support of reads is worth its logarithm, as a share of what `_SURE` of them are worth
            worth = weight * min(1.0, float(np.log1p(hint.support) / np.log1p(_SURE)))
            if hint.kind == "CDS":
                parts += [(hint.start, hint.end, k, worth / _CODING) for k in _STRANDS[hint.strand]]
            else:
                # an intron has two sites: a gene that has one of them alone gets a half
                of_each = worth / 2 if hint.kind == "intron" else worth
                sites += [
                    (SIGNALS.index(kind), reverse, position, of_each, number)
                    for k in _STRANDS[hint.strand]
                    for kind, reverse, position in _of_strand(hint, k)
                ]
        never = _NEVER * max(1.0, weight)
        parts += [(start, end, k, never) for start, end in avoid.tolist() for k in (0, 1)]
        return cls(
            np.array(sites, np.float64).reshape(-1, 5),
            np.array(parts, np.float64).reshape(-1, 4),
            len(hints),
            misplaced,
        )

    def evidence(self, start: int, n: int, nodes: Nodes) -> tuple[Evidence, IntArray]:
        """The scores added to n bases from `start` on and to their sites, and the numbers of used hints."""
        inside = (self.sites[:, 2] >= start) & (self.sites[:, 2] <= start + n)
        signal, reverse, position, worth, numbers = self.sites[inside].T
        # a number for each site: sites of the shard come by it, so those of hints are found by bisection; of
        # several hints of a site or a base the best counts
        here = nodes.site_signal, nodes.site_reverse, nodes.site_position
        wanted, known = (
            (2 * a.astype(np.int64) + b) * (n + 1) + c
            for a, b, c in ((signal, reverse, position - start), here)
        )
        found, coding = np.zeros(known.size), np.zeros((n, 2))
        same = np.zeros(wanted.size, bool)
        if known.size:
            place = np.searchsorted(known, wanted).clip(0, known.size - 1)
            same = known[place] == wanted
            np.maximum.at(found, place[same], worth[same])
        near = (self.parts[:, 1] > start) & (self.parts[:, 0] < start + n)
        for a, b, strand, each in self.parts[near].tolist():
            bases = coding[max(0, int(a) - start) : int(b) - start, int(strand)]
            bases[:] = each if each < 0 else np.maximum(bases, each)
        return Evidence(found, coding), numbers[same].astype(np.int64)


def tell_unused(
    known: Sequence[Hints], used: Sequence[set[int]], unused: dict[str, Counter[str]] | None
) -> None:
    """Warn of hints without effect: skipped ones, and those at sites that no gene can have."""
    found = Counter[str]()
    for hints, of in zip(known, used, strict=True):
        found.update(hints.misplaced)
        found[_NOWHERE] += len(set(hints.sites[:, 4].astype(int).tolist()) - of - {-1})
    tell_misplaced("hints", +found, sum(hints.n for hints in known), unused)


def _misplaced(hint: Hint, text: str, rules: GeneRules) -> str:
    """Why genes of the model cannot have a hint there, or that it is cut off; "" if neither."""
    place = place_of(hint.start, hint.end, len(text))
    if place and (place == BEYOND or hint.kind != "CDS"):
        return BEYOND
    if not hint.support:
        return "without support"
    strands = [k for k in _STRANDS[hint.strand] if "+-"[k] in rules.signs]
    if not strands:
        return "on the reverse strand, where the model has no genes"
    if hint.kind == "CDS":
        return place
    if hint.kind == "intron" and hint.end - hint.start < rules.introns[0]:
        return f"introns shorter than {rules.introns[0]} bases, the minimum of the model"
    if any(all(_is_there(text, *site, rules) for site in _of_strand(hint, k)) for k in strands):
        return ""
    donors = " or ".join(rules.donors)
    return {
        "intron": f"introns that do not begin with {donors} and end with {ACCEPTOR}",
        "donor": f"donors that are not {donors}",
        "acceptor": f"acceptors that are not {ACCEPTOR}",
        "start": f"starts that are not {START}",
        "stop": f"stops that are not {', '.join(STOPS)}",
    }[hint.kind]


def _is_there(text: str, kind: str, reverse: int, position: int, rules: GeneRules) -> bool:
    """Whether a sequence has the bases of a site."""
    motifs = {"start": (START,), "stop": STOPS, "donor": rules.donors, "acceptor": (ACCEPTOR,)}[kind]
    size = len(motifs[0])
    # sites are between bases: a start and a donor begin there, a stop and an acceptor end, as their strand
    # reads
    first = position if (kind in ("start", "donor")) != bool(reverse) else position - size
    bases = without_u(text[max(0, first) : first + size]).upper()
    return along_strand(bases, "+-"[reverse]) in motifs


def _of_strand(hint: Hint, reverse: int) -> list[tuple[str, int, int]]:
    """Kind, strand and position of the sites of a hint, if it is of that strand."""
    ends = (hint.start, hint.end)[:: -1 if reverse else 1]
    if hint.kind == "intron":
        return [("donor", reverse, ends[0]), ("acceptor", reverse, ends[1])]
    # a gene begins where its start codon does, and ends behind its stop codon
    return [(hint.kind, reverse, ends[hint.kind in ("stop", "acceptor")])]


def _check(hint: Hint, name: str) -> None:
    """Refuse what is no hint, by the name of its sequence."""
    try:
        is_right = hint.kind in HINTS and hint.strand in _STRANDS
        is_right &= 0 <= operator.index(hint.start) < operator.index(hint.end) < _MOST
        is_right &= 0 <= float(hint.support) < np.inf
    except (AttributeError, TypeError, ValueError, OverflowError):
        is_right = False
    if not is_right:
        raise DataError(
            f"{name}: {hint!r:.80} is not a valid Hint. It needs a kind ({', '.join(HINTS)}), "
            "0 <= start < end, a strand and a support >= 0"
        )


def checked_hints(
    hints: Any,
    weight: float,
    avoid: Any,
    sequences: Sequence[AnnotatedSequence],
    rules: GeneRules,
    unused: dict[str, Counter[str]] | None,
) -> list[Hints]:
    """What is known of some sequences."""
    if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= weight <= _MOST_WEIGHT:
        raise DataError(f"hint_weight={weight!r}: expected a number from 0 to {_MOST_WEIGHT:g}")
    hints = [[]] * len(sequences) if hints is None else hints
    if not isinstance(hints, Sequence) or any(
        isinstance(of, str) or not isinstance(of, Iterable) for of in hints
    ):
        raise DataError(f"hints={hints!r:.60} must be a list of lists of Hint")
    if len(hints) != len(sequences):
        raise DataError(f"hints has {len(hints)} lists, but X has {len(sequences)} sequences")
    regions = checked_regions(avoid, sequences, unused)
    return [
        Hints.of(list(of), each.name, weight, spans, each.sequence, rules)
        for of, each, spans in zip(hints, sequences, regions, strict=True)
    ]
