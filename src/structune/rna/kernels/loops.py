"""The loops of RNA structures, as the table cells whose sum is their score.

Every function writes the cells of one piece to ``out`` from place ``found`` on, and returns the next place.

Parameters that they share:

letters : (n + 2,)
    As `structune.rna.kernels.sums` has them; of a circle twice in a row, (2 n + 2,), with the last base
    before the first: places from n on are those of the second round.
at : named tuple
    The first cell of each table, named as in `structune.rna.structure.features.SHAPES`.
nick : int
    Where the first of two strands ends, n for one. What stands between them is absent.
"""

from structune.kernels.jit import bare_kernel, part_of_bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells

# Steps of 2^k and 1.5 * 2^k: one weight for each, so that long spans share what there is to learn.
SPANS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # j - i of a pair, from which weights change
LOOP = 31  # unpaired bases in one side of a loop: 0..30
GAP = LOOP  # places between two strands: no loop of two pairs is as large
ABSENT = 5  # letter of such a place, and of one beyond the ends
N_LETTERS = 6  # ACGU, a base that is none of these, and ABSENT


@bare_kernel
def row(i, n, reach):
    """Where cell (i, 0) would lie."""
    # Rows have reach + 1 cells as long as i + reach < n; row r of the last ones has n - r. The sum over the
    # rows before i, less i because cell (i, j) is at its start + j - i, is i * reach less what they lack.
    shorter = max(i - (n - 1 - reach), 0)  # rows before that the end of the sequence cuts
    return i * reach - shorter * (shorter - 1) // 2


@part_of_bare_kernel
def span_of(length):
    """Number of the limits in SPANS that a pair (i, i + length) has reached."""
    k = 0
    while k < len(SPANS) and length >= SPANS[k]:
        k += 1
    return k


@part_of_bare_kernel
def quad(a, b, c, d):
    """Cell of four letters."""
    return ((a * N_LETTERS + b) * N_LETTERS + c) * N_LETTERS + d


@part_of_bare_kernel
def _junction(letters, a, b):
    """Of the pair of bases a and b, with the neighbours a + 1 and b - 1."""
    return quad(letters[a + 1], letters[b + 1], letters[a + 2], letters[b])


@part_of_bare_kernel
def span_between(i, j, n, nick, circular):
    """How far two bases that pair are apart; 0 if they are of two strands."""
    if i < nick <= j:
        return 0
    return min(j - i, n - j + i) if circular else j - i


@part_of_bare_kernel
def has_no_outside(i, j, nick, circular):
    """Whether nothing says which side of a pair is outside: on a circle, and of a pair of two strands.

    There it is the other side once the circle is turned, or the other strand comes first.
    """
    return circular or i < nick <= j


@part_of_bare_kernel
def pair_cells(letters, i, j, length, at, out, found):
    """Cells that every pair has, whatever its loops; `length` is its span."""
    out[found] = at.base_pair + letters[i + 1] * N_LETTERS + letters[j + 1]
    out[found + 1] = at.span + span_of(length)
    return found + 2


@part_of_bare_kernel
def hairpin_cells(letters, i, j, at, out, found):
    length = j - i - 1
    out[found] = at.hairpin_mismatch + _junction(letters, i, j)
    out[found + 1] = at.hairpin + min(length, LOOP - 1)
    if length != 3 and length != 4:
        return found + 2
    # Hairpins of three and four bases have a cell of their own for each word of letters.
    code = 0
    for k in range(i + 2, j + 1):
        code = code * N_LETTERS + letters[k]
    out[found + 2] = (at.hairpin_3 if length == 3 else at.hairpin_4) + code
    return found + 3


@part_of_bare_kernel
def two_pairs_cells(letters, i, j, p, q, no_outside, at, out, found):
    """Cells of a stack, a bulge or an internal loop.

    What is before and behind a stack counts as absent where it has no outside, see `has_no_outside`.
    """
    l1, l2 = p - i - 1, j - q - 1
    # A stack reads both pairs, and in the extended features the bases around it.
    if l1 == 0 and l2 == 0:
        before, behind = (ABSENT, ABSENT) if no_outside else (letters[i], letters[j + 2])
        word = quad(letters[i + 1], letters[j + 1], letters[p + 1], letters[q + 1])
        out[found] = at.stack + (word * N_LETTERS + before) * N_LETTERS + behind
        return found + 1
    # A bulge or internal loop: both pairs as seen from within the loop, and the sizes of its sides.
    out[found] = at.interior_mismatch + _junction(letters, i, j)
    out[found + 1] = at.interior_mismatch + _junction(letters, q, p)
    out[found + 2] = at.loop + l1 * LOOP + l2
    found += 3
    if l1 + l2 == 1:
        out[found] = at.bulge_0x1 + letters[i + 2 if l1 else j]
        found += 1
    elif l1 == 1 and l2 == 1:
        out[found] = at.internal_1x1 + letters[i + 2] * N_LETTERS + letters[j]
        found += 1
    return found


@part_of_bare_kernel
def closing_cells(letters, i, j, at, out, found):
    """Cells of the pair that closes a multi-branch loop."""
    out[found], out[found + 1] = at.multi_base, at.multi_paired
    out[found + 2] = at.multi_dangle + _junction(letters, i, j)
    return found + 3


@part_of_bare_kernel
def branch_cells(letters, p, q, multi, at, out, found):
    """Cells of the pair (p, q) as a branch of a multi-branch loop, or of the exterior."""
    word = _junction(letters, q, p)
    out[found] = at.multi_paired if multi else at.external_paired
    out[found + 1] = (at.multi_dangle if multi else at.external_dangle) + word
    return found + 2


@part_of_bare_kernel
def between_cells(letters, i, j, at, out, found):
    """Cells of the pair that closes the loop between two strands: one of the exterior, seen from within."""
    out[found] = at.strands
    return branch_cells(letters, j, i, False, at, out, found + 1)


@part_of_one_kernel
def _open_loop(letters, partner, first, last, multi, at, out, found):
    """Cells of the branches and unpaired bases of a multi-branch or the exterior loop."""
    k = first
    while k < last:
        if partner[k] > k:
            found = branch_cells(letters, k, partner[k], multi, at, out, found)
            k = partner[k]
        elif letters[k + 1] != ABSENT:
            out[found] = at.multi_unpaired if multi else at.external_unpaired
            found += 1
        k += 1
    return found


@part_of_one_kernel
def _branches(partner, first, last, nick):
    """Number of pairs of the loop that holds first..last - 1, its first, and whether strands end in it."""
    n_pairs, p, k, ends = 0, -1, first, first <= nick < last
    while k < last:
        if partner[k] > k:
            p = k if p < 0 else p
            n_pairs += 1
            ends = ends and not k < nick < partner[k]
            k = partner[k]
        k += 1
    return n_pairs, p, ends


@bare_kernel
def loop_cells(letters, partner, nick, circular, at, out):
    """Cells of a whole structure, with repeats; returns their number.

    Parameters
    ----------
    partner : (n,)
        -1 where unpaired.
    out : (6 n + 1,)
    """
    letters, partner, out, n, found = cells(letters), cells(partner), cells(out), partner.size, 0
    # The loop that no pair encloses first; then of each pair the loop that it closes, by its branches.
    for i in range(-1, n):
        a, b, begin, end, is_open = i, n, 0, n, True
        if i >= 0:
            a, b, is_open = i, partner[i], False
            if b < i:
                continue
            found = pair_cells(letters, a, b, span_between(a, b, n, nick, circular), at, out, found)
            begin, end = i + 1, b
        elif circular:
            # Turned so that the first pair closes it, the last loop of a circle is a hairpin, a loop of two
            # pairs, or a multi-branch loop; letters stand twice in a row, so that no index wraps around.
            first = 0
            while first < n and partner[first] < 0:
                first += 1
            if first < n:
                a, b, is_open = partner[first], first + n, False
                begin = a + 1
        n_pairs, p, ends = _branches(partner, begin, end, nick)
        if ends and i >= 0:
            found, is_open = between_cells(letters, a, b, at, out, found), True
        elif is_open:
            pass
        elif n_pairs == 0:
            found = hairpin_cells(letters, a, b, at, out, found)
        elif n_pairs == 1:
            no_outside = i < 0 or has_no_outside(i, b, nick, circular)
            found = two_pairs_cells(letters, a, b, p, partner[p], no_outside, at, out, found)
        else:
            found = closing_cells(letters, a, b, at, out, found)
            for _ in range(b - n):  # of a circle, before its first pair
                out[found] = at.multi_unpaired
                found += 1
        if is_open or n_pairs > 1:
            found = _open_loop(letters, partner, begin, end, not is_open, at, out, found)
    return found
