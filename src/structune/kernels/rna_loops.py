"""The loops of given RNA structures, as the table cells whose sum is the structure's score."""

from structune.kernels._jit import kernel

_KINDS_A, _KINDS_B = 6, 5  # letters of a neighbour in junctions A and B


@kernel
def _pair(a, b):
    return a * 4 + b


@kernel
def _junction(letters, a, b, kinds):
    """Of the pair of bases a and b, with the neighbours a + 1 and b - 1."""
    return (_pair(letters[a + 1], letters[b + 1]) * kinds + letters[a + 2]) * kinds + letters[b]


@kernel
def _branches(partner, first, last):
    """Pairs and unpaired bases of the loop that holds first..last - 1, and its first pair."""
    n_pairs, unpaired, p = 0, 0, -1
    k = first
    while k < last:
        if partner[k] > k:
            p = k if p < 0 else p
            n_pairs += 1
            k = partner[k]
        else:
            unpaired += 1
        k += 1
    return n_pairs, unpaired, p


@kernel
def _open_loop(letters, partner, first, last, base, per_pair, per_unpaired, out, found):
    """Cells of the branches and unpaired bases of a multi-branch or the exterior loop."""
    k = first
    while k < last:
        if partner[k] > k:
            out[found], out[found + 1] = per_pair, base + _junction(letters, partner[k], k, _KINDS_A)
            found += 2
            k = partner[k]
        else:
            out[found] = per_unpaired
            found += 1
        k += 1
    return found


@kernel
def _two_pairs(letters, i, j, p, q, tables, sides, out, found):
    """Cells of a stack, a bulge or an internal loop; ``sides`` is the number of lengths of a side."""
    l1, l2 = p - i - 1, j - q - 1
    if l1 == 0 and l2 == 0:
        outer = _pair(letters[i + 1], letters[j + 1])
        out[found] = tables[1] + outer * 16 + _pair(letters[p + 1], letters[q + 1])
        return found + 1
    out[found] = tables[2] + _junction(letters, i, j, _KINDS_B)
    out[found + 1] = tables[2] + _junction(letters, q, p, _KINDS_B)
    out[found + 2] = tables[5] + l1 * sides + l2
    found += 3
    if l1 + l2 == 1:
        out[found] = tables[6] + letters[i + 2 if l1 else j]
        found += 1
    elif l1 == 1 and l2 == 1:
        out[found] = tables[7] + letters[i + 2] * _KINDS_B + letters[j]
        found += 1
    return found


@kernel
def loop_cells(letters, partner, tables, sides, out):
    """Write the cells of all loops of one structure to `out`, with repeats; returns their number.

    Parameters
    ----------
    letters : (n + 2,)
        As `structune.kernels.rna` has them.
    partner : (n,)
        -1 where unpaired.
    tables : first cells of the tables, in the order of `structune.structures.rna_features.SHAPES`
    sides : lengths of a loop's side, 0..30
    out : (5 n + 1,)
    """
    n = partner.size
    found = _open_loop(letters, partner, 0, n, tables[3], tables[12], tables[11], out, 0)
    for i in range(n):
        j = partner[i]
        if j < i:
            continue
        out[found] = tables[0] + _pair(letters[i + 1], letters[j + 1])
        found += 1
        n_pairs, unpaired, p = _branches(partner, i + 1, j)
        if n_pairs == 0:
            out[found] = tables[2] + _junction(letters, i, j, _KINDS_B)
            out[found + 1] = tables[4] + min(unpaired, sides - 1)
            found += 2
        elif n_pairs == 1:
            found = _two_pairs(letters, i, j, p, partner[p], tables, sides, out, found)
        else:
            out[found], out[found + 1] = tables[8], tables[10]
            out[found + 2] = tables[3] + _junction(letters, i, j, _KINDS_A)
            found += 3
            found = _open_loop(letters, partner, i + 1, j, tables[3], tables[10], tables[9], out, found)
    return found
