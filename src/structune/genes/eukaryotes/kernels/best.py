"""The best path of a state machine, some positions at a time: the recursion of `sums`, over maxima."""

import numpy as np

from structune.genes.eukaryotes.kernels.sums import emit_log, jump_of, opened_log, pass_openings
from structune.kernels.jit import bare_kernel, part_of_bare_kernel


@bare_kernel
def best(graph, f, letters, first, n_rows, rows, scratch, came_from):
    """Fill the rows of a block from those before, as `forward` does with sums; ``f`` are logs.

    ``came_from`` (n_rows, S) becomes the state before, or, of what comes by a jump, S and the lane.
    """
    history, cell = graph.longest + 1, rows.cell
    S, J = cell.shape[1], graph.jump_open.size
    last = scratch.last
    for j in range(J):
        last[j] = letters.opening_first[j]
    for r in range(history, history + n_rows):
        t, out = first + r - history, r - history
        letter = letters.letter[t]
        for s in range(S):
            cell[r, s] = -np.inf
        for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
            a, b = graph.source[e], graph.target[e]
            if cell[r - 1, a] > cell[r, b]:
                cell[r, b], came_from[out, b] = cell[r - 1, a], a
        if letters.gates[t]:
            _through_gates(graph, f, letters, t, r, cell, out, came_from)
        for j in range(J):
            _jumps_to(graph, f, letters, rows, j, r, t, last, out, came_from)
            log = emit_log(graph, f.logs, letters, t, graph.jump_column[j])
            rows.prefix[r, j] = rows.prefix[r - 1, j] + log
        for c in range(graph.label.size):
            log = emit_log(graph, f.logs, letters, t, c)
            for s in range(graph.column_first[c], graph.column_first[c + 1]):
                cell[r, s] += log


@part_of_bare_kernel
def _through_gates(graph, f, letters, t, r, cell, out, came_from):
    gates, letter = letters.gates[t], letters.letter[t]
    for g in range(graph.gated_first.size - 1):
        if gates >> g & 1:
            for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                if graph.gated_letters[e] >> letter & 1:
                    a, b = graph.gated_source[e], graph.gated_target[e]
                    value = cell[r - 1, a] + (letters.sites[g, t] + f.edges[graph.gated_weight[e]])
                    if value > cell[r, b]:
                        cell[r, b], came_from[out, b] = value, a


@part_of_bare_kernel
def _jumps_to(graph, f, letters, rows, j, r, t, last, out, came_from):
    a, b, cell = graph.jump_first[j], graph.jump_first[j + 1], rows.cell
    u, letter, close, S = t - graph.longest, letters.letter[t], graph.jump_close[j], cell.shape[1]
    if u >= 0 and letters.gates[u] >> graph.jump_open[j] & 1:
        log = f.lengths[f.lengths.size - 1] + opened_log(graph, letters, rows, j, r, t, graph.longest)
        row = r - graph.longest - 1
        for k in range(a, b):
            target = graph.lane_inside[k]
            value = cell[row, graph.lane_source[k]] + (f.edges[graph.lane_weight[k]] + log)
            if value > cell[r, target]:
                cell[r, target], came_from[out, target] = value, S + k
    if not letters.gates[t] >> close & 1:
        return
    pass_openings(graph, letters, j, t, last)
    for o in range(last[j] - 1, letters.opening_first[j] - 1, -1):
        length = t - letters.openings[o]
        if length > graph.longest:
            break
        log = opened_log(graph, letters, rows, j, r, t, length)
        log += f.lengths[length - graph.shortest] + letters.sites[close, t]
        row = r - length - 1
        for k in range(a, b):
            target = graph.lane_target[k, letter]
            if target >= 0:
                value = cell[row, graph.lane_source[k]] + (f.edges[graph.lane_weight[k]] + log)
                if value > cell[r, target]:
                    cell[r, target], came_from[out, target] = value, S + k


@bare_kernel
def trace(graph, f, letters, first, rows, came_from, state, t, path):
    """Follow the best path from ``state`` at position t to before the block; fills ``path`` on the way.

    Returns the state and position where it goes on.
    """
    history, S = graph.longest + 1, rows.cell.shape[1]
    while t >= first:
        path[t] = state
        r = t - first + history
        back = came_from[t - first, state]
        if back < S:
            state, t = back, t - 1
        else:
            lane, length = back - S, graph.longest
            inside = graph.lane_inside[lane]
            if state != inside:
                length = _length_of(graph, f, letters, rows, lane, r, t)
            for p in range(t - length, t):
                path[p] = inside
            state, t = graph.lane_source[lane], t - length - 1
    return state, t


@part_of_bare_kernel
def _length_of(graph, f, letters, rows, lane, r, t):
    """How long the best jump is that comes to a state by a lane: found again from the scores."""
    j = jump_of(graph, lane)
    most, found = -np.inf, 0
    for o in range(letters.opening_first[j], letters.opening_first[j + 1]):
        length = t - letters.openings[o]
        if graph.shortest <= length <= graph.longest:
            log = opened_log(graph, letters, rows, j, r, t, length) + f.lengths[length - graph.shortest]
            value = rows.cell[r - length - 1, graph.lane_source[lane]] + log
            if value > most:
                most, found = value, length
    return found
