"""Forward and backward over the paths of a sparse state machine, in the linear domain, block by block.

A path has a state at each position. An edge goes from the state of the position before to that of this one,
if the letter here permits it; a gated edge also needs its gate open here. A jump leaves a state where its
first gate is open, emits the positions from there on by a column of its own, and comes to another state where
its second gate is open; one that has not ended after ``longest`` positions comes to a state that may stay.

Row r of a block's tables belongs to position ``first + r - history``, where the ``history = longest + 1``
rows at the top are those of the positions before. Rows are scaled where their sums become large or small: a
cell holds its value times ``exp(-logs[r])``.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_bare_kernel

FORWARD, REVERSE, BOTH = 0, 1, 2  # of which strand a column reads the words
# Sums of rows outside are scaled. What underflows is then so small beside them that, were it to matter later,
# `backward` would multiply it by more than a double holds. A higher end lets lost digits pass unseen.
_LEAST, _MOST = 1e-60, 1e4
_FAR = -640.0  # logs of jumps below are lost digits: weights of lanes may make up for them unseen
_CLOSED = 1e-6  # what may be missing of the probability of all paths at a position


class Graph(NamedTuple):
    """A machine with S states, C columns, G gates, J jumps.

    ``column_first`` (C + 1,): where the states that emit by each column begin; ``label``, ``reads`` (C,): the
    row of the table that a column looks up, and the strand. ``edge_first`` (6,): where the edges of each
    letter begin in ``source`` and ``target``. ``gated_first`` (G + 1,): where those of each gate begin, which
    also have a weight; ``gated_letters`` are bit masks. ``jump_first`` (J + 1,): where the lanes of a jump
    begin, each with a source, a target for each letter (-1 for none), the state of the positions inside, and
    a weight; ``lane_of`` (S,): that of such a state, or -1. ``begins``: the state before the first position;
    ``ends``: of the last.
    """

    column_first: Any
    label: Any
    reads: Any
    edge_first: Any
    source: Any
    target: Any
    gated_first: Any
    gated_source: Any
    gated_target: Any
    gated_letters: Any
    gated_weight: Any
    jump_open: Any
    jump_close: Any
    jump_column: Any
    jump_first: Any
    lane_source: Any
    lane_target: Any
    lane_inside: Any
    lane_weight: Any
    lane_of: Any
    shortest: Any
    longest: Any
    begins: Any
    ends: Any


class Factors(NamedTuple):
    """``table`` (labels, words + 1), the last for no word, and its ``logs``; ``edges``, of gated edges and
    lanes, by weight; ``lengths`` (longest - shortest + 2,), logs, of jumps, the last of long ones."""

    table: Any
    logs: Any
    edges: Any
    lengths: Any


class Letters(NamedTuple):
    """A sequence of n: ``letter``, ``word``, ``reverse_word``, ``gates`` (a bit mask) of each position;
    ``sites`` (G, n): logs of the factors of gates where they are open; ``extra`` (n or 0, C): logs of more
    factors of columns; ``openings``: where jumps may begin, those of jump j from ``opening_first[j]`` on."""

    letter: Any
    word: Any
    reverse_word: Any
    gates: Any
    sites: Any
    extra: Any
    openings: Any
    opening_first: Any


class Rows(NamedTuple):
    """Of a block of B positions: ``cell`` (history + B, S); ``logs`` (history + B,) of the scales; ``prefix``
    (history + B, J): what a jump's column emits up to the row, as a log."""

    cell: Any
    logs: Any
    prefix: Any


class Scratch(NamedTuple):
    """Memory that kernels are lent: ``factor`` (C,), ``value`` (S,), ``last`` (J,) of int64; and for backward
    ``to`` (history + B, S), what paths are worth from a row on, and ``ending`` (history + B, J), the
    probability of the jumps that began after a row."""

    factor: Any
    value: Any
    last: Any
    to: Any
    ending: Any


class Counts(NamedTuple):
    """How often each factor of `Factors` and `Letters` is used in the mean; ``columns`` (n or 0, C), if
    wanted, how often each column is at each position."""

    table: Any
    edges: Any
    lengths: Any
    sites: Any
    columns: Any


@part_of_bare_kernel
def emit(graph, table, letters, t, out):
    """The factor of each column at a position."""
    word, reverse = letters.word[t], letters.reverse_word[t]
    for c in range(out.size):
        label, reads = graph.label[c], graph.reads[c]
        value = table[label, reverse if reads == REVERSE else word]
        out[c] = value * table[label, reverse] if reads == BOTH else value
    if letters.extra.shape[0]:
        for c in range(out.size):
            out[c] *= np.exp(letters.extra[t, c])


@part_of_bare_kernel
def emit_log(graph, logs, letters, t, c):
    """The log of what one column emits."""
    label, reads, reverse = graph.label[c], graph.reads[c], letters.reverse_word[t]
    value = logs[label, reverse if reads == REVERSE else letters.word[t]]
    if reads == BOTH:
        value += logs[label, reverse]
    if letters.extra.shape[0]:
        value += letters.extra[t, c]
    return value


@part_of_bare_kernel
def jump_log(rows, j, r, length):
    """What a jump that comes to row r emits on its way, as a log, relative to the scales of both its ends."""
    row = r - length - 1
    return rows.prefix[r - 1, j] - rows.prefix[row, j] + (rows.logs[row] - rows.logs[r - 1])


@part_of_bare_kernel
def opened_log(graph, letters, rows, j, r, t, length):
    """Of a jump that comes to row r, at position t, after ``length`` positions; not its last gate."""
    return jump_log(rows, j, r, length) + letters.sites[graph.jump_open[j], t - length]


@part_of_bare_kernel
def jump_of(graph, lane):
    j = 0
    while graph.jump_first[j + 1] <= lane:
        j += 1
    return j


@part_of_bare_kernel
def pass_openings(graph, letters, j, t, last):
    """Let ``last[j]`` be the number of openings that are not too near to t, from one that is not above it."""
    end = letters.opening_first[j + 1]
    while last[j] < end and letters.openings[last[j]] <= t - graph.shortest:
        last[j] += 1


@bare_kernel
def forward(graph, f, letters, first, n_rows, rows, scratch):
    """Fill the rows of a block from those before it; False if a sum left the range of a double."""
    history, cell = graph.longest + 1, rows.cell
    S, C, J = cell.shape[1], graph.label.size, graph.jump_open.size
    factor, last = scratch.factor, scratch.last
    sound = True
    for j in range(J):
        last[j] = letters.opening_first[j]
    for r in range(history, history + n_rows):
        t = first + r - history
        letter = letters.letter[t]
        for s in range(S):
            cell[r, s] = 0.0
        for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
            cell[r, graph.target[e]] += cell[r - 1, graph.source[e]]
        if letters.gates[t]:
            _through_gates(graph, f, letters, t, r, cell)
        for j in range(J):
            sound = _jumps_to(graph, f, letters, rows, j, r, t, last) and sound
            log = emit_log(graph, f.logs, letters, t, graph.jump_column[j])
            rows.prefix[r, j] = rows.prefix[r - 1, j] + log
        emit(graph, f.table, letters, t, factor)
        total = 0.0
        for c in range(C):
            for s in range(graph.column_first[c], graph.column_first[c + 1]):
                cell[r, s] *= factor[c]
                total += cell[r, s].real
        rows.logs[r] = rows.logs[r - 1]
        if not _LEAST < total < _MOST:
            if not 0.0 < total < np.inf:
                return False
            for s in range(S):
                cell[r, s] *= 1.0 / total
            rows.logs[r] += np.log(total)
    return sound


@part_of_bare_kernel
def _through_gates(graph, f, letters, t, r, cell):
    gates, letter = letters.gates[t], letters.letter[t]
    for g in range(graph.gated_first.size - 1):
        if gates >> g & 1:
            site = np.exp(letters.sites[g, t])
            for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                if graph.gated_letters[e] >> letter & 1:
                    factor = site * f.edges[graph.gated_weight[e]]
                    cell[r, graph.gated_target[e]] += cell[r - 1, graph.gated_source[e]] * factor


@part_of_bare_kernel
def _jumps_to(graph, f, letters, rows, j, r, t, last):
    """Add the jumps that come to row r; False if one is lost."""
    a, b, cell, sound = graph.jump_first[j], graph.jump_first[j + 1], rows.cell, True
    u, letter, close = t - graph.longest, letters.letter[t], graph.jump_close[j]
    if u >= 0 and letters.gates[u] >> graph.jump_open[j] & 1:
        log = f.lengths[f.lengths.size - 1] + opened_log(graph, letters, rows, j, r, t, graph.longest)
        factor, row = np.exp(log), r - graph.longest - 1
        sound = log.real > _FAR
        for k in range(a, b):
            value = f.edges[graph.lane_weight[k]] * factor
            cell[r, graph.lane_inside[k]] += cell[row, graph.lane_source[k]] * value
    if not letters.gates[t] >> close & 1:
        return sound
    pass_openings(graph, letters, j, t, last)
    for o in range(last[j] - 1, letters.opening_first[j] - 1, -1):
        length = t - letters.openings[o]
        if length > graph.longest:
            break
        log = opened_log(graph, letters, rows, j, r, t, length)
        log += f.lengths[length - graph.shortest] + letters.sites[close, t]
        factor, row = np.exp(log), r - length - 1
        sound = sound and log.real > _FAR
        for k in range(a, b):
            target = graph.lane_target[k, letter]
            if target >= 0:
                value = f.edges[graph.lane_weight[k]] * factor
                cell[r, target] += cell[row, graph.lane_source[k]] * value
    return sound


@bare_kernel
def backward(graph, f, letters, first, n_rows, rows, inside, counts, scratch):
    """How often each factor is used in the block, added to ``counts``; False if any was lost on the way.

    What the block after hands to this one is in the last rows of ``scratch.to`` and ``scratch.ending``, and
    ``inside`` (J,), the probability of the jumps that go on; what this block hands on is then in the first
    rows.
    """
    history, cell = graph.longest + 1, rows.cell
    C, J = graph.label.size, graph.jump_open.size
    to, ending, factor, value, last = scratch.to, scratch.ending, scratch.factor, scratch.value, scratch.last
    closed = True
    for j in range(J):
        last[j] = letters.opening_first[j + 1]
    for r in range(history + n_rows - 1, history - 1, -1):
        t = first + r - history
        letter = letters.letter[t]
        emit(graph, f.table, letters, t, factor)
        found = 0.0
        if rows.logs[r] != rows.logs[r - 1]:
            for c in range(C):
                factor[c] *= np.exp(rows.logs[r - 1] - rows.logs[r])
        for c in range(C):
            used = 0.0 * factor[c]
            for s in range(graph.column_first[c], graph.column_first[c + 1]):
                used += cell[r, s] * to[r, s]
                value[s] = to[r, s] * factor[c]
            found += used.real
            count_emitted(graph, letters, counts, c, t, used)
        for j in range(J):
            inside[j] -= ending[r, j]
            found += inside[j].real
            count_emitted(graph, letters, counts, graph.jump_column[j], t, inside[j])
        closed = closed and abs(found - 1.0) < _CLOSED

        for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
            to[r - 1, graph.source[e]] += value[graph.target[e]]
        if letters.gates[t]:
            _back_through_gates(graph, f, letters, t, r, cell, value, to, counts)
        for j in range(J):
            _jumps_from(graph, f, letters, rows, j, r, t, last, value, to, ending, inside, counts)
    return closed


@part_of_bare_kernel
def repass_openings(graph, letters, j, t, last):
    """The same as `pass_openings`, from a number that is not below it."""
    start = letters.opening_first[j]
    while last[j] > start and letters.openings[last[j] - 1] > t - graph.shortest:
        last[j] -= 1


@part_of_bare_kernel
def count_emitted(graph, letters, counts, c, t, used):
    label, reads = graph.label[c], graph.reads[c]
    counts.table[label, letters.reverse_word[t] if reads == REVERSE else letters.word[t]] += used
    if reads == BOTH:
        counts.table[label, letters.reverse_word[t]] += used
    if counts.columns.shape[0]:
        counts.columns[t, c] += used


@part_of_bare_kernel
def _back_through_gates(graph, f, letters, t, r, cell, value, to, counts):
    gates, letter = letters.gates[t], letters.letter[t]
    for g in range(graph.gated_first.size - 1):
        if gates >> g & 1:
            site = np.exp(letters.sites[g, t])
            for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                if graph.gated_letters[e] >> letter & 1:
                    a, w = graph.gated_source[e], graph.gated_weight[e]
                    v = site * f.edges[w] * value[graph.gated_target[e]]
                    to[r - 1, a] += v
                    counts.edges[w] += cell[r - 1, a] * v
                    counts.sites[g, t] += cell[r - 1, a] * v


@part_of_bare_kernel
def _jumps_from(graph, f, letters, rows, j, r, t, last, value, to, ending, inside, counts):
    """Hand the values of row r to where jumps to it began, and count them."""
    u, letter, close = t - graph.longest, letters.letter[t], graph.jump_close[j]
    if u >= 0 and letters.gates[u] >> graph.jump_open[j] & 1:
        end, row = f.lengths.size - 1, r - graph.longest - 1
        factor = np.exp(f.lengths[end] + opened_log(graph, letters, rows, j, r, t, graph.longest))
        total = 0.0 * factor
        for k in range(graph.jump_first[j], graph.jump_first[j + 1]):
            total += _lane_from(graph, f, rows, k, row, factor * value[graph.lane_inside[k]], to, counts)
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
        log = opened_log(graph, letters, rows, j, r, t, length)
        log += f.lengths[length - graph.shortest] + letters.sites[close, t]
        factor, row = np.exp(log), r - length - 1
        total = 0.0 * factor
        for k in range(graph.jump_first[j], graph.jump_first[j + 1]):
            target = graph.lane_target[k, letter]
            if target >= 0:
                total += _lane_from(graph, f, rows, k, row, factor * value[target], to, counts)
        counts.sites[graph.jump_open[j], t - length] += total
        counts.sites[close, t] += total
        counts.lengths[length - graph.shortest] += total
        ending[row, j] += total
        inside[j] += total


@part_of_bare_kernel
def _lane_from(graph, f, rows, k, row, value, to, counts):
    a, w = graph.lane_source[k], graph.lane_weight[k]
    v = f.edges[w] * value
    used = rows.cell[row, a] * v
    to[row, a] += v
    counts.edges[w] += used
    return used
