"""The best path of a state machine, some positions at a time."""

import numpy as np

from structune.kernels._jit import kernel, part_of_kernel
from structune.kernels.state_machine import emit_log, last_openings


@kernel
def best(graph, f, letters, first, n_rows, rows, came_from):
    """Fill the rows of a block from those before, as `forward` does with sums; ``f`` and sites are logs.

    ``came_from`` (n_rows, S) becomes the state before, or, of what comes by a jump, S and the lane.
    """
    history = graph.longest + 1
    last = np.empty(graph.jump_open.size, np.int64)
    last_openings(graph, letters, first - 1, last)
    for r in range(history, history + n_rows):
        t = first + r - history
        here, before, back = rows.cell[r], rows.cell[r - 1], came_from[r - history]
        here[:] = -np.inf
        letter = letters.letter[t]
        for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
            a, b = graph.source[e], graph.target[e]
            if before[a] > here[b]:
                here[b], back[b] = before[a], a
        _through_gates(graph, f, letters, t, before, here, back)
        for j in range(last.size):
            end = letters.opening_first[j + 1]
            while last[j] < end and letters.openings[last[j]] <= t - graph.shortest:
                last[j] += 1
            _jumps_to(graph, f, letters, rows, j, r, t, last[j], here, back)
            c = graph.jump_column[j]
            rows.prefix[r, j] = rows.prefix[r - 1, j] + emit_log(graph, f.logs, letters, t, c)
        for c in range(graph.label.size):
            log = emit_log(graph, f.logs, letters, t, c)
            for s in range(graph.column_first[c], graph.column_first[c + 1]):
                here[s] += log


@part_of_kernel
def _through_gates(graph, f, letters, t, before, here, back):
    gates, letter = letters.gates[t], letters.letter[t]
    for g in range(graph.gated_first.size - 1 if gates else 0):
        if gates >> g & 1:
            for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                if graph.gated_letters[e] >> letter & 1:
                    a, b = graph.gated_source[e], graph.gated_target[e]
                    value = before[a] + (letters.sites[g, t] + f.edges[graph.gated_weight[e]])
                    if value > here[b]:
                        here[b], back[b] = value, a


@part_of_kernel
def _jump_log(graph, letters, rows, j, r, t, length):
    row, opening = r - length - 1, graph.jump_open[j]
    return rows.prefix[r - 1, j] - rows.prefix[row, j] + letters.sites[opening, t - length]


@part_of_kernel
def _jumps_to(graph, f, letters, rows, j, r, t, last, here, back):
    lanes, S = range(graph.jump_first[j], graph.jump_first[j + 1]), here.size
    u, letter, close = t - graph.longest, letters.letter[t], graph.jump_close[j]
    if u >= 0 and letters.gates[u] >> graph.jump_open[j] & 1:
        log = f.lengths[f.lengths.size - 1] + _jump_log(graph, letters, rows, j, r, t, graph.longest)
        cell = rows.cell[r - graph.longest - 1]
        for k in lanes:
            value = cell[graph.lane_source[k]] + (f.edges[graph.lane_weight[k]] + log)
            if value > here[graph.lane_inside[k]]:
                here[graph.lane_inside[k]], back[graph.lane_inside[k]] = value, S + k
    if not letters.gates[t] >> close & 1:
        return
    for o in range(last - 1, letters.opening_first[j] - 1, -1):
        length = t - letters.openings[o]
        if length > graph.longest:
            break
        log = _jump_log(graph, letters, rows, j, r, t, length)
        log += f.lengths[length - graph.shortest] + letters.sites[close, t]
        cell = rows.cell[r - length - 1]
        for k in lanes:
            target = graph.lane_target[k, letter]
            if target >= 0:
                value = cell[graph.lane_source[k]] + (f.edges[graph.lane_weight[k]] + log)
                if value > here[target]:
                    here[target], back[target] = value, S + k


@kernel
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
            path[t - length : t] = inside
            state, t = graph.lane_source[lane], t - length - 1
    return state, t


@part_of_kernel
def _length_of(graph, f, letters, rows, lane, r, t):
    """How long the best jump is that comes to a state by a lane: found again from the scores."""
    j = np.searchsorted(graph.jump_first, lane, side="right") - 1
    most, found = -np.inf, 0
    for o in range(letters.opening_first[j], letters.opening_first[j + 1]):
        length = t - letters.openings[o]
        if graph.shortest <= length <= graph.longest:
            log = _jump_log(graph, letters, rows, j, r, t, length) + f.lengths[length - graph.shortest]
            value = rows.cell[r - length - 1, graph.lane_source[lane]] + log
            if value > most:
                most, found = value, length
    return found
