"""Genes as paths, the column that emits each position, and back; and the exons of a path as nodes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.eukaryotes.kernels.nodes import Nodes
from structune.genes.eukaryotes.structure.weights import ExonWeights
from structune.genes.formats.record import Exons, Transcript
from structune.structure import Array, IntArray

Path = NDArray[np.int8]


def gene_path(weights: ExonWeights, n: int, transcripts: Iterable[Transcript]) -> Path:
    """The column of each of n positions.

    Refuses transcripts that overlap, reach beyond the sequence, or are of a strand that the model does not
    have. What else is not a gene, such as introns without the right ends, `ExonGraph.encode` refuses.
    """
    path = np.full(n, weights.n_columns - 1, np.int8)
    ordered = sorted(transcripts, key=lambda t: t.start)
    for a, b in pairwise(ordered):
        if b.start <= a.end:
            raise DataError(f"transcripts {a.name} and {b.name} overlap or touch")
    for t in ordered:
        if t.end > n:
            raise DataError(f"transcript {t.name} ends at {t.end}, beyond the sequence of {n}")
        if t.strand not in weights.rules.signs:
            raise DataError(
                f"transcript {t.name} is on the strand {t.strand!r}, which the model does not have"
            )
        # `seen` bases of the gene come before an exon, along its strand. The column is where codons begin
        # modulo 3: `seen` bases before the exon, or on the reverse strand, where codons are read leftwards,
        # behind it.
        reverse, seen = t.strand == "-", 0
        order = -1 if reverse else 1
        for (start, end), intron in zip(t.exons[::order], [*t.introns[::order], (0, 0)], strict=True):
            path[start:end] = 3 + (end + seen) % 3 if reverse else (start - seen) % 3
            seen += end - start
            phase = seen % 3 if weights.n_introns > 1 else 0
            path[slice(*intron)] = 3 * weights.n_strands + weights.n_introns * reverse + phase
    return path


def path_genes(weights: ExonWeights, path: Path) -> list[tuple[str, Exons]]:
    """The strand and coding parts of each gene on a path, by start."""
    between, n_coding = weights.n_columns - 1, 3 * weights.n_strands
    found = []
    for a, b in _runs(path != between):
        exons = tuple((a + c, a + d) for c, d in _runs(path[a:b] < n_coding))
        found.append(("-" if path[a] >= 3 else "+", exons))
    return found


def _runs(inside: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where runs of marked positions begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False]))))
    return [(a, b) for a, b in edges.reshape(-1, 2).tolist()]


def path_nodes(weights: ExonWeights, nodes: Nodes, path: Path) -> tuple[IntArray, IntArray]:
    """The left and right nodes of the exons of a path, in order; -1 where there is none."""
    runs = np.array(_runs(path < 3 * weights.n_strands), np.int64).reshape(-1, 2)
    begins, ends, columns = runs[:, 0], runs[:, 1], path[runs[:, 0]].astype(np.int64)
    padded = np.concatenate(([True], path == weights.n_columns - 1, [True]))  # between genes

    def found(column: Array, position: Array, outer: Array, positions: Array, outers: Array) -> IntArray:
        # a node is one number by its position, column (six at most) and whether it is outer
        keys = (position.astype(np.int64) * 6 + column) * 2 + outer
        wanted = (positions * 6 + columns) * 2 + outers
        order = np.append(np.argsort(keys, kind="stable"), -1)
        places = order[np.searchsorted(keys, wanted, sorter=order[:-1])]
        return np.where(np.append(keys, -1)[places] == wanted, places, -1)

    lefts = found(nodes.left_column, nodes.left_position, nodes.left_closing < 0, begins, padded[begins])
    rights = found(nodes.right_column, nodes.right_position, nodes.right_opening < 0, ends, padded[ends + 1])
    # a short exon may share its ends with longer ones: its own nodes are those that are joined, alone
    for k in np.flatnonzero((ends - begins < 3) & ~_joined(nodes, lefts, rights)):
        some = (nodes.right_position == ends[k]) & (nodes.right_column == columns[k])
        some &= nodes.right_last == nodes.right_first + 1
        own = np.flatnonzero(some)
        first = nodes.right_first[own]
        same = (nodes.left_position[first] == begins[k]) & (nodes.left_column[first] == columns[k])
        lefts[k], rights[k] = next(zip(first[same], own[same], strict=True), (-1, -1))
    return lefts, rights


def _joined(nodes: Nodes, lefts: IntArray, rights: IntArray) -> NDArray[np.bool_]:
    """Whether each pair of a left and a right node is an exon of the graph."""
    first, last = (np.append(of, 0)[rights] for of in (nodes.right_first, nodes.right_last))
    return (lefts >= 0) & (rights >= 0) & (first <= lefts) & (lefts < last)


def wrong_exon(nodes: Nodes, lefts: IntArray, rights: IntArray, shortest: int) -> int:
    """The first exon of a walk that is none, or does not follow the one before it; -1 if all do."""
    n = int(np.argmin(np.append(_joined(nodes, lefts, rights), False)))  # those before are exons
    x, r, n_all = lefts[:n], rights[:n], len(lefts)
    is_outer, ends_gene = nodes.left_closing[x] < 0, nodes.right_opening[r] < 0
    wrong = is_outer != np.append(True, ends_gene)[:n]
    later, before = x[1:], r[:-1]
    same_type = (nodes.left_mask[later] & nodes.right_mask[before]) > 0
    same_strand = nodes.left_column[later] // 3 == nodes.right_column[before] // 3
    is_long = nodes.left_position[later] - nodes.right_position[before] >= shortest
    wrong[1:] |= ~is_outer[1:] & ~(same_type & same_strand & is_long)
    wrong = np.append(wrong, n < n_all)
    if wrong.any():
        return int(np.argmax(wrong))
    return -1 if not n or ends_gene[-1] else n - 1
