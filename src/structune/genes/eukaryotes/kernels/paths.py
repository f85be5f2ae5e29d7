"""Gates of sequences, their scores, and the features of given paths."""

from structune.genes.eukaryotes.kernels.sums import count_emitted, jump_of
from structune.kernels.jit import bare_kernel


@bare_kernel
def open_gates(letter, motif, at, bit, gates):
    """Set a bit where a motif begins ``at`` positions after."""
    n, m = letter.size, motif.size
    for t in range(max(0, -at), min(n, n - at - m + 1)):
        same = True
        for k in range(m):
            same = same and letter[t + at + k] == motif[k]
        if same:
            gates[t] |= 1 << bit


@bare_kernel
def score_sites(gates, bit, place, reverse, word, none, first, window, start, out):
    """Add the scores of a gate from position ``start`` on, where it is open: sums over a window."""
    n, some = word.size, window.shape[1]
    for t in range(start, start + out.size):
        if gates[t] >> bit & 1:
            total = 0.0 * window[0, 0]
            for k in range(window.shape[0]):
                p = t + place - 1 - first - k if reverse else t + place + first + k
                if 0 <= p < n and word[p] != none:
                    total += window[k, word[p] % some]
            out[t - start] += total


@bare_kernel
def count_sites(gates, bit, place, reverse, word, none, first, used, start, window):
    """Add how often a gate was used at each position from ``start`` on to the counts of its window."""
    n, some = word.size, window.shape[1]
    for t in range(start, start + used.size):
        if gates[t] >> bit & 1:
            for k in range(window.shape[0]):
                p = t + place - 1 - first - k if reverse else t + place + first + k
                if 0 <= p < n and word[p] != none:
                    window[k, word[p] % some] += used[t - start]


@bare_kernel
def count_path(graph, column, letters, path, weight, counts):
    """Add the features of a path to counts; returns the first position that it cannot come to, or -1.

    ``column`` (S,): of each state.
    """
    n, t, before = path.size, 0, graph.begins
    while t < n:
        state = path[t]
        lane = graph.lane_of[state]
        length = 1
        if lane >= 0 and state != before:  # a jump, unless it is long
            j = jump_of(graph, lane)
            while length <= graph.longest and t + length < n and path[t + length] == state:
                length += 1
            opening = graph.jump_open[j]
            if graph.lane_source[lane] != before or not letters.gates[t] >> opening & 1:
                return t
            counts.edges[graph.lane_weight[lane]] += weight
            counts.sites[opening, t] += weight
            if length <= graph.longest:
                end, close = t + length, graph.jump_close[j]
                if length < graph.shortest or end == n or not letters.gates[end] >> close & 1:
                    return end
                if graph.lane_target[lane, letters.letter[end]] != path[end]:
                    return end
                counts.sites[close, end] += weight
                counts.lengths[length - graph.shortest] += weight
                length += 1
            else:
                counts.lengths[counts.lengths.size - 1] += weight
        elif not _count_edge(graph, letters, t, before, state, weight, counts):
            return t
        for _ in range(length):
            before = path[t]
            count_emitted(graph, letters, counts, column[before], t, weight)
            t += 1
    for s in graph.ends:
        if s == before:
            return -1
    return n


@bare_kernel
def _count_edge(graph, letters, t, source, target, weight, counts):
    """Whether there is an edge."""
    letter, gates = letters.letter[t], letters.gates[t]
    for e in range(graph.edge_first[letter], graph.edge_first[letter + 1]):
        if graph.source[e] == source and graph.target[e] == target:
            return True
    for g in range(graph.gated_first.size - 1):
        if gates >> g & 1:
            for e in range(graph.gated_first[g], graph.gated_first[g + 1]):
                same = graph.gated_source[e] == source and graph.gated_target[e] == target
                if same and graph.gated_letters[e] >> letter & 1:
                    counts.edges[graph.gated_weight[e]] += weight
                    counts.sites[g, t] += weight
                    return True
    return False
