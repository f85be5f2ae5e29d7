"""The alignment of the highest score, from tables of `sums`, and that of the highest expected accuracy."""

from structune.kernels.jit import kernel, part_of_bare_kernel

# states of a path; those of gaps in x are _GAP + k - 1, those of gaps in y _GAP + L + k - 1
BEGIN, MATCH, _GAP = 0, 1, 2


@kernel
def trace(state, i, j, first, f, cells, rows, partner):
    """Follow the best path from a cell up to row ``first``; returns the state and the cell where it goes on.

    What a state follows is found again from the scores: to keep it would take more bytes a cell. Scores of
    what the alternatives have in common are left out of the comparisons.
    """
    L, left = rows.gap_x.shape[1], cells.low[first]
    while state != BEGIN and i > first:
        if state == MATCH:
            i, j = i - 1, j - 1
            partner[i] = j
            state = _before_match(f, rows, i - first, i, j, j - left)
        elif state < _GAP + L:
            i -= 1
            state = _before_gap_x(f, rows, state - _GAP, i - first, i, j, j - left)
        else:
            j -= 1
            state = _before_gap_y(f, rows, state - _GAP - L, i - first, i, j, j - left)
    return state, i, j


@part_of_bare_kernel
def _before_match(f, rows, r, i, j, c):
    # in row 0 and column 0 one sequence alone has residues before the matches
    L, best, state = rows.gap_x.shape[1], f.x.begins[i] + f.y.begins[j], BEGIN
    if i and j:
        best += f.both[1]
    if rows.match[r, c] > best:
        best, state = rows.match[r, c], MATCH
    for k in range(L if i else 0):
        value = rows.gap_x[r, k, c] + f.x.closes[i - 1]
        if value > best:
            best, state = value, _GAP + k
    for k in range(L if j else 0):
        value = rows.gap_y[r, k, c] + f.y.closes[j - 1]
        if value > best:
            best, state = value, _GAP + L + k
    return state


@part_of_bare_kernel
def _before_gap_x(f, rows, k, r, i, j, c):
    L, t = rows.gap_x.shape[1], f.steps
    if k:
        value, state = rows.gap_x[r, k - 1, c] + t[k], _GAP + k - 1
    else:
        value, state = rows.match[r, c] + t[0] + f.x.opens[i] + f.y.site_open[j], MATCH
    stays = k == L - 1 and rows.gap_x[r, k, c] + t[L] > value
    return _GAP + k if stays else state


@part_of_bare_kernel
def _before_gap_y(f, rows, k, r, i, j, c):
    L, t = rows.gap_x.shape[1], f.steps
    if k:
        value, state = rows.gap_y[r, k - 1, c] + t[k], _GAP + L + k - 1
    else:
        value, state = rows.match[r, c], MATCH
        # the first residue of a gap in y follows a match, or a gap in x that has ended in this row
        for a in range(L if i else 0):
            after_x = rows.gap_x[r, a, c] + f.x.closes[i - 1] + f.both[0]
            if after_x > value:
                value, state = after_x, _GAP + a
        value += t[0] + f.x.site_open[i] + f.y.opens[j]
    stays = k == L - 1 and rows.gap_y[r, k, c] + t[L] > value
    return _GAP + L + k if stays else state


@kernel
def accuracy_rows(worth, below, choices):
    """The most that the matches from a cell on are worth, from the last row of ``worth`` (B, m) to the first.

    ``below`` (m + 1,) holds the row after the last, and then the first. ``choices`` (B, m): 0 leaves out the
    residue of x, 1 that of y, 2 matches them.
    """
    # A[i, j] = max(A[i + 1, j], A[i, j + 1], A[i + 1, j + 1] + worth[i, j]), in one row: at column j,
    # ``below`` holds A[i + 1] up to j, and A[i] after it. A tie leaves the match out.
    B, m = worth.shape
    for r in range(B - 1, -1, -1):
        diagonal = below[m]
        for j in range(m - 1, -1, -1):
            matched, value, choice = diagonal + worth[r, j], below[j], 0
            diagonal = below[j]
            if below[j + 1] > value:
                value, choice = below[j + 1], 1
            if matched > value:
                value, choice = matched, 2
            below[j], choices[r, j] = value, choice


@kernel
def accuracy_trace(choices, first, left, j, partner):
    """Follow the choices of a block, whose first cell is (first, left), from column j of its first row on.

    Returns the column below its last row: beyond those that it has, residues of x are left out.
    """
    B, width = choices.shape
    i, j = first, max(j, left)
    while i < first + B and j < left + width:
        choice = choices[i - first, j - left]
        if choice == 2:
            partner[i] = j
        # 0 moves down, 1 to the right, 2 along the diagonal
        i, j = i + (choice != 1), j + (choice != 0)
    return j
