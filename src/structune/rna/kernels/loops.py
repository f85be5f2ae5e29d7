"""The loops of RNA structures, as the table cells whose sum is their score.

Every function writes the cells of one piece to ``out`` from place ``found`` on, and returns the next place.

Parameters that they share:

letters : (n + 2,)
    As `structune.rna.kernels.sums` has them.
at : named tuple
    The first cell of each table, named as in `structune.rna.structure.features.SHAPES`.
"""

from structune.kernels.jit import kernel

SPANS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # j - i of a pair, from which weights change
LOOP = 31  # unpaired bases in one side of a loop: 0..30
_OPEN_LETTERS, _CLOSED_LETTERS = 6, 5  # of a neighbour that may lie beyond the ends, or may not


@kernel
def span_of(length):
    """Number of the limits in SPANS that a pair (i, i + length) has reached."""
    k = 0
    while k < len(SPANS) and length >= SPANS[k]:
        k += 1
    return k


@kernel
def _pair(letters, a, b):
    return letters[a + 1] * 4 + letters[b + 1]


@kernel
def _junction(letters, a, b, kinds):
    """Of the pair of bases a and b, with the neighbours a + 1 and b - 1."""
    return (_pair(letters, a, b) * kinds + letters[a + 2]) * kinds + letters[b]


@kernel
def pair_cells(letters, i, j, at, out, found):
    """Cells that every pair has, whatever its loops."""
    out[found], out[found + 1] = at.base_pair + _pair(letters, i, j), at.span + span_of(j - i)
    return found + 2


@kernel
def hairpin_cells(letters, i, j, at, out, found):
    length = j - i - 1
    out[found] = at.hairpin_mismatch + _junction(letters, i, j, _CLOSED_LETTERS)
    out[found + 1] = at.hairpin + min(length, LOOP - 1)
    if length != 3 and length != 4:
        return found + 2
    code = 0
    for k in range(i + 2, j + 1):
        code = code * _CLOSED_LETTERS + letters[k]
    out[found + 2] = (at.hairpin_3 if length == 3 else at.hairpin_4) + code
    return found + 3


@kernel
def two_pairs_cells(letters, i, j, p, q, at, out, found):
    """Cells of a stack, a bulge or an internal loop."""
    l1, l2 = p - i - 1, j - q - 1
    if l1 == 0 and l2 == 0:
        stack = (_pair(letters, i, j) * 16 + _pair(letters, p, q)) * _OPEN_LETTERS + letters[i]
        out[found] = at.stack + stack * _OPEN_LETTERS + letters[j + 2]
        return found + 1
    out[found] = at.interior_mismatch + _junction(letters, i, j, _CLOSED_LETTERS)
    out[found + 1] = at.interior_mismatch + _junction(letters, q, p, _CLOSED_LETTERS)
    out[found + 2] = at.loop + l1 * LOOP + l2
    found += 3
    if l1 + l2 == 1:
        out[found] = at.bulge_0x1 + letters[i + 2 if l1 else j]
        found += 1
    elif l1 == 1 and l2 == 1:
        out[found] = at.internal_1x1 + letters[i + 2] * _CLOSED_LETTERS + letters[j]
        found += 1
    return found


@kernel
def closing_cells(letters, i, j, at, out, found):
    """Cells of the pair that closes a multi-branch loop."""
    out[found], out[found + 1] = at.multi_base, at.multi_paired
    out[found + 2] = at.multi_dangle + _junction(letters, i, j, _OPEN_LETTERS)
    return found + 3


@kernel
def branch_cells(letters, p, q, multi, at, out, found):
    """Cells of the pair (p, q) as a branch of a multi-branch loop, or of the exterior."""
    word = _junction(letters, q, p, _OPEN_LETTERS)
    out[found] = at.multi_paired if multi else at.external_paired
    out[found + 1] = (at.multi_dangle if multi else at.external_dangle) + word
    return found + 2


@kernel
def _open_loop(letters, partner, first, last, multi, at, out, found):
    """Cells of the branches and unpaired bases of a multi-branch or the exterior loop."""
    k = first
    while k < last:
        if partner[k] > k:
            found = branch_cells(letters, k, partner[k], multi, at, out, found)
            k = partner[k]
        else:
            out[found] = at.multi_unpaired if multi else at.external_unpaired
            found += 1
        k += 1
    return found


@kernel
def _branches(partner, first, last):
    """Number of pairs of the loop that holds first..last - 1, and its first one."""
    n_pairs, p, k = 0, -1, first
    while k < last:
        if partner[k] > k:
            p = k if p < 0 else p
            n_pairs += 1
            k = partner[k]
        k += 1
    return n_pairs, p


@kernel
def loop_cells(letters, partner, at, out):
    """Cells of a whole structure, with repeats; returns their number.

    Parameters
    ----------
    partner : (n,)
        -1 where unpaired.
    out : (5 n + 1,)
    """
    n = partner.size
    found = _open_loop(letters, partner, 0, n, False, at, out, 0)
    for i in range(n):
        j = partner[i]
        if j < i:
            continue
        found = pair_cells(letters, i, j, at, out, found)
        n_pairs, p = _branches(partner, i + 1, j)
        if n_pairs == 0:
            found = hairpin_cells(letters, i, j, at, out, found)
        elif n_pairs == 1:
            found = two_pairs_cells(letters, i, j, p, partner[p], at, out, found)
        else:
            found = closing_cells(letters, i, j, at, out, found)
            found = _open_loop(letters, partner, i + 1, j, True, at, out, found)
    return found
