"""Ribosome-binding sites before starts of genes."""

import numpy as np

from structune.kernels.jit import kernel, part_of_kernel

# TAAGGAGGTGA, complementary to the 3' end of the 16S RNA; spacings count from behind GGAGG
_CONSENSUS = np.array([3, 0, 0, 2, 2, 0, 2, 2, 3, 2, 0], np.int8)
_CORE_END = 8
SHORTEST_RUN, _LONGEST_RUN = 3, 6
SPACING_STARTS = np.array([2, 5, 7, 9, 11])
MOST_SPACING = 16
_USUAL_SPACING = 7
RUNS, SPACINGS = _LONGEST_RUN - SHORTEST_RUN + 1, SPACING_STARTS.size


@kernel
def ribosome_sites(letters, starts, out):
    """The kind of the best site before each start: run and spacing, or ``RUNS * SPACINGS`` for none.

    The best has the longest run of bases as in the consensus, of equal ones the spacing nearest to the usual.
    """
    for k in range(starts.size):
        # the spacing is the number of bases between GGAGG, behind which is _CORE_END, and the start codon
        longest, at = SHORTEST_RUN - 1, 0
        for spacing in range(SPACING_STARTS[0], MOST_SPACING):
            run = _run(letters, starts[k] - spacing - _CORE_END, starts[k])
            nearer = abs(spacing - _USUAL_SPACING) < abs(at - _USUAL_SPACING)
            if run > longest or (run == longest and at and nearer):
                longest, at = run, spacing
        out[k] = RUNS * SPACINGS
        if at:
            place = SPACING_STARTS.size - 1
            while SPACING_STARTS[place] > at:
                place -= 1
            out[k] = (min(longest, _LONGEST_RUN) - SHORTEST_RUN) * SPACINGS + place


@part_of_kernel
def _run(letters, first, end):
    """The longest run of matches with the consensus laid at `first`, before `end`."""
    longest = run = 0
    for j in range(_CONSENSUS.size):
        p = first + j
        # a run ends at the start codon, and a base before the sequence matches nothing
        run = run + 1 if 0 <= p < end and letters[p] == _CONSENSUS[j] else 0
        longest = max(longest, run)
    return longest
