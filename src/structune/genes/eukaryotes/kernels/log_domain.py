"""Forward and backward over the paths of a state machine, in the log domain: slower, for all weights.

The recursions of `sums`, over sums of logs. ``Factors`` hold logs; ``Rows.logs`` stay 0.
"""

import numpy as np

from structune.genes.eukaryotes.kernels.sums import (
    count_emitted,
    emit_log,
    opened_log,
    pass_openings,
    repass_openings,
)
from structune.kernels.jit import bare_kernel, part_of_bare_kernel
from structune.kernels.log_sums import add_logs


@part_of_bare_kernel
def _times(a, b):
    """The log of a product: what cannot be stays so."""
    return a if a.real == -np.inf else a + b


@bare_kernel
def forward(graph, f, letters, first, n_rows, rows, scratch):
    """Fill the rows of a block from those before it."""
    history = graph.longest + 1
    last = scratch.last
    for j in range(last.size):
        last[j] = letters.opening_first[j]
    for r in range(history, history + n_rows):
        t = first + r - history
        here, before = rows.cell[r], rows.cell[r - 1]
        here[:] = -np.inf
        letter, gates = letters.letter[t], letters.gates[t]
        for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
            b = graph.target[e]
            here[b] = add_logs(here[b], before[graph.source[e]])
        for g in range(graph.gated_first.size - 1 if gates else 0):
            if gates >> g & 1:
                for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                    if graph.gated_letters[e] >> letter & 1:
                        a, b = graph.gated_source[e], graph.gated_target[e]
                        log = letters.sites[g, t] + f.edges[graph.gated_weight[e]]
                        here[b] = add_logs(here[b], _times(before[a], log))
        for j in range(last.size):
            _jumps_to(graph, f, letters, rows, j, r, t, last, here)
            c = graph.jump_column[j]
            rows.prefix[r, j] = rows.prefix[r - 1, j] + emit_log(graph, f.logs, letters, t, c)
        for c in range(graph.label.size):
            log = emit_log(graph, f.logs, letters, t, c)
            for s in range(graph.column_first[c], graph.column_first[c + 1]):
                here[s] = _times(here[s], log)
    return True


@part_of_bare_kernel
def _jumps_to(graph, f, letters, rows, j, r, t, last, here):
    lanes = range(graph.jump_first[j], graph.jump_first[j + 1])
    u, letter, close = t - graph.longest, letters.letter[t], graph.jump_close[j]
    if u >= 0 and letters.gates[u] >> graph.jump_open[j] & 1:
        log = f.lengths[f.lengths.size - 1] + opened_log(graph, letters, rows, j, r, t, graph.longest)
        cell = rows.cell[r - graph.longest - 1]
        for k in lanes:
            value = _times(cell[graph.lane_source[k]], f.edges[graph.lane_weight[k]] + log)
            here[graph.lane_inside[k]] = add_logs(here[graph.lane_inside[k]], value)
    if not letters.gates[t] >> close & 1:
        return
    pass_openings(graph, letters, j, t, last)
    for o in range(last[j] - 1, letters.opening_first[j] - 1, -1):
        length = t - letters.openings[o]
        if length > graph.longest:
            break
        log = opened_log(graph, letters, rows, j, r, t, length)
        log += f.lengths[length - graph.shortest] + letters.sites[close, t]
        cell = rows.cell[r - length - 1]
        for k in lanes:
            target = graph.lane_target[k, letter]
            if target >= 0:
                value = _times(cell[graph.lane_source[k]], f.edges[graph.lane_weight[k]] + log)
                here[target] = add_logs(here[target], value)


@bare_kernel
def backward(graph, f, letters, first, n_rows, rows, inside, counts, scratch):
    """How often each factor is used in the block, added to ``counts``."""
    history, J = graph.longest + 1, graph.jump_open.size
    to, ending, value, last = scratch.to, scratch.ending, scratch.value, scratch.last
    for j in range(J):
        last[j] = letters.opening_first[j + 1]
    for r in range(history + n_rows - 1, history - 1, -1):
        t = first + r - history
        here, before, back = rows.cell[r], rows.cell[r - 1], to[r - 1]
        letter, gates = letters.letter[t], letters.gates[t]
        for c in range(graph.label.size):
            log = emit_log(graph, f.logs, letters, t, c)
            for s in range(graph.column_first[c], graph.column_first[c + 1]):
                count_emitted(graph, letters, counts, c, t, _share(here[s], to[r, s]))
                value[s] = _times(to[r, s], log)
        for j in range(J):
            inside[j] -= ending[r, j]
            count_emitted(graph, letters, counts, graph.jump_column[j], t, inside[j])
        for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
            back[graph.source[e]] = add_logs(back[graph.source[e]], value[graph.target[e]])
        for g in range(graph.gated_first.size - 1 if gates else 0):
            if gates >> g & 1:
                for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                    if graph.gated_letters[e] >> letter & 1:
                        a, w = graph.gated_source[e], graph.gated_weight[e]
                        v = _times(value[graph.gated_target[e]], letters.sites[g, t] + f.edges[w])
                        back[a] = add_logs(back[a], v)
                        counts.edges[w] += _share(before[a], v)
                        counts.sites[g, t] += _share(before[a], v)
        for j in range(J):
            _jumps_from(graph, f, letters, rows, j, r, t, last, value, to, ending, inside, counts)
    return True


@part_of_bare_kernel
def _share(a, b):
    """The probability of what has these logs before and after."""
    return np.exp(a + b) if a.real > -np.inf and b.real > -np.inf else 0.0


@part_of_bare_kernel
def _jumps_from(graph, f, letters, rows, j, r, t, last, value, to, ending, inside, counts):
    u, letter, close = t - graph.longest, letters.letter[t], graph.jump_close[j]
    if u >= 0 and letters.gates[u] >> graph.jump_open[j] & 1:
        end, row = f.lengths.size - 1, r - graph.longest - 1
        log = f.lengths[end] + opened_log(graph, letters, rows, j, r, t, graph.longest)
        total = 0.0 * log
        for k in range(graph.jump_first[j], graph.jump_first[j + 1]):
            total += _lane_from(graph, f, rows, k, row, _times(value[graph.lane_inside[k]], log), to, counts)
        counts.sites[graph.jump_open[j], u] += total
        counts.lengths[end] += total
        ending[row, j] += total
        inside[j] += total
    if not letters.gates[t] >> close & 1:
        return
    repass_openings(graph, letters, j, t, last)
    for o in range(last[j] - 1, letters.opening_first[j] - 1, -1):
        length = t - letters.openings[o]
        if length > graph.longest:
            break
        row = r - length - 1
        log = opened_log(graph, letters, rows, j, r, t, length)
        log += f.lengths[length - graph.shortest] + letters.sites[close, t]
        total = 0.0 * log
        for k in range(graph.jump_first[j], graph.jump_first[j + 1]):
            target = graph.lane_target[k, letter]
            if target >= 0:
                total += _lane_from(graph, f, rows, k, row, _times(value[target], log), to, counts)
        counts.sites[graph.jump_open[j], t - length] += total
        counts.sites[close, t] += total
        counts.lengths[length - graph.shortest] += total
        ending[row, j] += total
        inside[j] += total


@part_of_bare_kernel
def _lane_from(graph, f, rows, k, row, value, to, counts):
    a, w = graph.lane_source[k], graph.lane_weight[k]
    v = _times(value, f.edges[w])
    used = _share(rows.cell[row, a], v)
    to[row, a] = add_logs(to[row, a], v)
    counts.edges[w] += used
    return used
