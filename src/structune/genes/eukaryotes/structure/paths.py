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
from structune.structure import IntArray

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
    edges = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False]))))
    return [(a, b) for a, b in edges.reshape(-1, 2).tolist()]


def path_nodes(weights: ExonWeights, nodes: Nodes, path: Path) -> tuple[IntArray, IntArray]:
    """The left and right nodes of the exons of a path, in order; -1 where there is none."""
    runs = np.array(_runs(path < 3 * weights.n_strands), np.int64).reshape(-1, 2)
    begins, ends, columns = runs[:, 0], runs[:, 1], path[runs[:, 0]].astype(np.int64)
    padded = np.concatenate(([True], path == weights.n_columns - 1, [True]))  # between genes
    of_left = nodes.left_column, nodes.left_position, nodes.left_closing < 0
    of_right = nodes.right_column, nodes.right_position, nodes.right_opening < 0
    lefts = _found(*of_left, columns, begins, padded[begins])
    rights = _found(*of_right, columns, ends, padded[ends + 1])
    # a short exon may share its ends with longer ones: its own nodes are those that are joined
    for k, (x, r) in enumerate(zip(lefts, rights, strict=True)):
        if not _joined(nodes, x, r) and ends[k] - begins[k] < 3:
            lefts[k], rights[k] = _short(nodes, begins[k], ends[k], columns[k])
    return lefts, rights


def _found(
    column: IntArray,
    position: IntArray,
    outer: NDArray[np.bool_],
    columns: IntArray,
    positions: IntArray,
    outers: NDArray[np.bool_],
) -> IntArray:
    """Numbers of nodes, by what they are."""
    # a node is one number by its position, column (six at most) and whether it is outer
    keys = (position.astype(np.int64) * 6 + column) * 2 + outer
    wanted = (positions * 6 + columns) * 2 + outers
    order = np.argsort(keys, kind="stable")
    places = np.searchsorted(keys[order], wanted)
    found = np.append(order, -1)[places.clip(0, order.size)]
    same = np.append(keys, -1)[found] == wanted
    return np.where(same, found, -1)


def _joined(nodes: Nodes, x: int, r: int) -> bool:
    return x >= 0 and r >= 0 and bool(nodes.right_first[r] <= x < nodes.right_last[r])


def _short(nodes: Nodes, begin: int, end: int, column: int) -> tuple[int, int]:
    """The nodes of an exon of one or two bases."""
    for r in np.flatnonzero((nodes.right_position == end) & (nodes.right_column == column)).tolist():
        x = int(nodes.right_first[r])
        if (
            nodes.right_last[r] == x + 1
            and nodes.left_position[x] == begin
            and nodes.left_column[x] == column
        ):
            return x, r
    return -1, -1


def wrong_exon(nodes: Nodes, lefts: IntArray, rights: IntArray, shortest: int) -> int:
    """The first exon of a walk that is none, or does not follow the one before it; -1 if all do."""
    before = -1
    for k, (x, r) in enumerate(zip(lefts.tolist(), rights.tolist(), strict=True)):
        if not _joined(nodes, x, r):
            return k
        if (nodes.left_closing[x] < 0) != (before < 0 or nodes.right_opening[before] < 0):
            return k
        if nodes.left_closing[x] >= 0:
            length = nodes.left_position[x] - nodes.right_position[before]
            same = nodes.left_mask[x] & nodes.right_mask[before]
            strands = nodes.left_column[x] // 3 == nodes.right_column[before] // 3
            if not (same and strands and length >= shortest):
                return k
        before = r
    return -1 if before < 0 or nodes.right_opening[before] < 0 else len(lefts) - 1
