"""Which weights a gene model has: that of Chen et al. 2009, or one with signals and lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.genes.eukaryotes.machine.weights import MachineWeights
from structune.genes.eukaryotes.structure.gene_machine import gene_machine

FEATURES = ("full", "paper")
STRANDS = ("both", "forward")
WINDOWS = {"start": (-12, 6), "stop": (-3, 6), "donor": (-4, 8), "acceptor": (-30, 4)}
_SHORTEST = 4  # an intron that has both its ends
_MOST_SCORED, _N_BINS = 400, 24


def gene_weights(
    features: str = "full",
    strands: str = "both",
    donors: Sequence[str] = ("GT",),
    introns: tuple[int, int] = (_SHORTEST, _SHORTEST),
    n_tracks: int = 0,
) -> MachineWeights:
    """The weights of a gene model.

    Parameters
    ----------
    features : {"full", "paper"}
        "paper": words of six bases by coding position, and by phase in introns, and the weights of introns
        and genes (figure 5 of Chen et al. 2009). "full": words of one, three and six bases, the same ones in
        all introns, pairs of bases around starts, stops, donors and acceptors, and lengths of introns.
    strands : {"both", "forward"}
    donors : sequence of str
        The first two bases of introns.
    introns : (int, int)
        The shortest intron, and the longest whose length has a weight.
    n_tracks : int
    """
    for name, value, known in (("features", features, FEATURES), ("strands", strands, STRANDS)):
        if value not in known:
            raise DataError(f"{name}={value!r}: expected one of {known}")
    if not donors or any(donor not in ("GT", "GC") for donor in donors):
        raise DataError(f"donors={donors!r}: expected some of 'GT', 'GC'")
    if not _SHORTEST <= introns[0] <= introns[1]:
        raise DataError(f"introns={introns!r}: expected the shortest, {_SHORTEST} or more, and the longest")
    paper = features == "paper"
    machine = gene_machine(strands, tuple(donors), introns, tie_introns=not paper)
    if paper:
        return MachineWeights(machine, orders=(0, 5), windows={}, n_tracks=n_tracks)
    return MachineWeights(machine, (0, 2, 5), WINDOWS, 1, length_bins(*introns), n_tracks)


def length_bins(shortest: int, longest: int) -> tuple[int, ...]:
    """Where bins of lengths begin: at lengths that rise by a factor, apart by one at least."""
    edges = np.geomspace(shortest, longest + 1, _N_BINS + 1)[:-1]
    starts = np.unique(edges.round().astype(int))
    return tuple(starts[starts <= longest].tolist())


def intron_lengths(lengths: ArrayLike) -> tuple[int, int]:
    """The shortest intron and the longest whose length has a weight, from those of training genes.

    A little shorter than the shortest of them; and twice as long as the shorter three of five, at most 400.
    """
    found = np.asarray(lengths)
    if not found.size:
        return _SHORTEST, _SHORTEST
    shortest = max(_SHORTEST, int(0.9 * found.min()))
    return shortest, max(shortest, min(_MOST_SCORED, int(2 * np.quantile(found, 0.6))))
