"""Encoded sequences of a graph of exons: their letters, with or without genes, and the nodes, where exons and
introns may begin and end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, make_dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import plural
from structune.genes.eukaryotes.kernels.nodes import SPLIT_START, SPLIT_STOP, Nodes
from structune.genes.eukaryotes.structure.weights import (
    ACCEPTOR,
    SIGNALS,
    START,
    STOPS,
    ExonWeights,
    GeneRules,
)
from structune.genes.formats.record import Exons, Transcript
from structune.genes.nucleotides import LETTERS, Letters, reverse_complement
from structune.structure import Array, FloatArray, IntArray, SequenceShard, offsets_of, take_segments

Path = NDArray[np.int8]
_GROUPS = {name.partition("_")[0]: name for name in Nodes._fields}  # rows of offsets, and an array of each
_GROUP_OF = {name: list(_GROUPS).index(name.partition("_")[0]) for name in Nodes._fields}
_START, _STOP, _DONOR, _ACCEPTOR = map(SIGNALS.index, ("start", "stop", "donor", "acceptor"))
_A, _G, _T = (LETTERS.index(letter) for letter in "AGT")
_NONE = -(10**9)  # a position before all others
_N_SHORT = 5  # kinds of exons of one or two bases that a split codon has, on a strand
_Arrays = make_dataclass("_Arrays", [(name, Any) for name in (*Nodes._fields, "offsets")], frozen=True)


class NodeArrays(_Arrays):  # type: ignore[misc, valid-type]
    """The nodes of sequences, one after the other: fields as in `Nodes`, whose numbers count within their
    sequence, and ``offsets`` (groups, n_sequences + 1), which says where those of each sequence begin."""

    @classmethod
    def joined(cls, found: Sequence[Nodes]) -> NodeArrays:
        """Those of some sequences, as one."""
        sizes = [[getattr(each, name).size for each in found] for name in _GROUPS.values()]
        offsets = np.array([offsets_of(np.array(some, np.int64)) for some in sizes])
        # positions and numbers of nodes fit into 32 bits: half of the memory of encoded sequences
        arrays: dict[str, Any] = {
            name: np.concatenate(
                [*(getattr(each, name) for each in found), np.empty(0)],
                dtype=np.bool_ if name == "site_reverse" else np.int32,
                casting="unsafe",
            )
            for name in Nodes._fields
        }
        return cls(**arrays, offsets=offsets)

    def take(self, chosen: IntArray) -> NodeArrays:
        # numbers of nodes count within their sequence, so they need no change
        taken = [take_segments(offsets, chosen) for offsets in self.offsets]
        arrays = {name: getattr(self, name)[taken[k][1]] for name, k in _GROUP_OF.items()}
        return NodeArrays(**arrays, offsets=np.stack([offsets for offsets, _ in taken]))

    def of(self, s: int) -> Nodes:
        """Those of a sequence, as kernels read them."""
        spans = [slice(*offsets[s : s + 2]) for offsets in self.offsets]
        return Nodes(**{name: getattr(self, name)[spans[k]] for name, k in _GROUP_OF.items()})

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in vars(self).values())


@dataclass(frozen=True)
class ExonShard(SequenceShard):
    """Encoded sequences, one after the other."""

    starts: IntArray  # (n_sequences + 1,): positions of sequence s are starts[s]:starts[s + 1]
    letters: NDArray[np.int8]  # (n_positions,): places in `nucleotides.LETTERS`
    words: NDArray[np.int16]  # (n_positions,): as `kernels.words.words` numbers them
    reverse_words: NDArray[np.int16]
    tracks: FloatArray  # (n_positions, n_tracks)
    paths: NDArray[np.int8]  # (n_positions,): the column that emits each; (0,) without outputs
    tables: NDArray[np.int8]  # (n_sequences,): which of the tables of a `Scaling` each is scored by
    nodes: NodeArrays

    @property
    def bounds(self) -> IntArray:
        return self.starts

    def take(self, indices: Any) -> ExonShard:
        chosen = self._chosen(indices)
        starts, parts = take_segments(self.starts, chosen)
        arrays: tuple[Any, ...] = self.letters, self.words, self.reverse_words, self.tracks
        letters, words, reverse, tracks = (array[parts] for array in arrays)
        paths = self.paths[parts] if self.paths.size else self.paths
        of_positions = letters, words, reverse, tracks, paths
        return ExonShard(
            self.weights[chosen], starts, *of_positions, self.tables[chosen], self.nodes.take(chosen)
        )


# --- where exons begin and end ----------------------------------------------------------------------------


class Ends(NamedTuple):
    """Left or right ends of exons, an entry each.

    ``position``: between bases; ``column``: the position of the first base of a codon modulo 3, and 3 more on
    the reverse strand; ``mask``: types of introns (a bit each) beside inner ones; ``signal``, ``edge``: its
    signal and split codon, -1 for none; ``pair``: of exons cut short, a number that both ends have, else -1.
    """

    position: IntArray
    column: IntArray
    mask: IntArray
    signal: IntArray
    pair: IntArray
    edge: IntArray

    def mirrored(self, n: int) -> Ends:
        """The same of the reverse strand, in the order of the other: a frame is that of a codon's leftmost
        base."""
        pair = np.where(self.pair < 0, -1, self.pair + _N_SHORT)
        return self._replace(position=n - self.position, column=3 + (n - self.column) % 3, pair=pair)

    @property
    def inner(self) -> NDArray[np.bool_]:
        return self.mask > 0

    @property
    def whole(self) -> NDArray[np.bool_]:
        return self.pair < 0


def motif_at(letters: Letters, motifs: Sequence[str]) -> IntArray:
    """Where one of some motifs, all of one length, begins."""
    n = max(letters.size - len(motifs[0]) + 1, 0)
    found = [
        np.all([letters[k : k + n] == LETTERS.index(a) for k, a in enumerate(motif)], axis=0)
        for motif in motifs
    ]
    return np.flatnonzero(np.any(found, axis=0))


def _ends(position: Array, frame: Array, signal: int, mask: Any = 0, pair: Any = -1, edge: int = -1) -> Ends:
    """Ends at positions, with their frames, of one signal; other numbers may be one for all."""
    return Ends(*np.broadcast_arrays(position, frame % 3, mask, signal, pair, edge))


def strand_ends(letters: Letters, donors: Sequence[str]) -> tuple[list[Ends], list[Ends]]:
    """Where exons begin and where they end, as read along the strand."""
    starts, stops = motif_at(letters, (START,)), motif_at(letters, STOPS)
    donor = motif_at(letters, donors)
    donor = donor[donor > 0]  # an exon has a base at least
    acceptor = motif_at(letters, (ACCEPTOR,)) + 2
    acceptor = acceptor[acceptor < letters.size]
    # two letters before each donor, and two behind each acceptor: beyond the ends they are unknown
    padded = np.concatenate(([4], letters, [4, 4]))
    last, before, here, after = (padded[at] for at in (donor, donor - 1, acceptor + 1, acceptor + 2))

    # After T a codon is a stop with AA, AG or GA. Bits of masks are types of introns (`TYPES`): an acceptor
    # admits those after which its first bases make no stop codon, and no start but ATG.
    completes_t = ((here == _A) & ((after == _A) | (after == _G))) | ((here == _G) & (after == _A))
    begins = [_ends(starts, starts, _START)]
    ends = [_ends(stops + 3, stops, _STOP)]
    after_one = 2 + 4 * ~completes_t + 8 * ((here == _T) & (after == _G))
    after_two = 16 + 32 * ((here != _A) & (here != _G)) + 64 * (here != _A) + 128 * (here == _G)
    for phase, mask in enumerate((1, after_one, after_two)):
        begins.append(_ends(acceptor, acceptor - phase, _ACCEPTOR, mask))
    # a donor has one type by phase: what its last one or two bases may become
    t_before = before == _T
    one = np.where(last == _T, 4, 2)
    two = np.where(t_before & (last == _A), 32, np.where(t_before & (last == _G), 64, 16))
    for phase, mask in enumerate((1, one, two)):
        ends.append(_ends(donor, donor - phase, _DONOR, mask))

    # codons that an intron splits: exons of one or two bases
    begin = (2, completes_t, 4), (1, here == _A, 96), (1, here == _G, 32)
    end = (1, last == _A, 8), (2, (before == _A) & (last == _T), 128)
    for k, (length, some, mask) in enumerate(begin):
        at = acceptor[some & (acceptor + length <= letters.size)]
        frame, pair = at - (3 - length), 2 * _N_SHORT * at + k
        begins.append(_ends(at, frame, _ACCEPTOR, mask, pair))
        ends.append(_ends(at + length, frame, -1, 0, pair, SPLIT_STOP))
    for k, (length, some, mask) in enumerate(end, len(begin)):
        at = donor[some]
        frame, pair = at - length, 2 * _N_SHORT * at + k
        begins.append(_ends(frame, frame, -1, 0, pair))
        ends.append(_ends(at, frame, _DONOR, mask, pair, SPLIT_START))
    return begins, ends


def find_nodes(letters: Letters, rules: GeneRules) -> Nodes:
    """The nodes of a sequence."""
    n, other = letters.size, reverse_complement(letters)
    left_parts, right_parts = strand_ends(letters, rules.donors)
    stops = [motif_at(letters, STOPS)]
    if rules.strands == "both":
        begins, ends = strand_ends(other, rules.donors)
        left_parts += [each.mirrored(n) for each in ends]
        right_parts += [each.mirrored(n) for each in begins]
        stops.append(np.sort(n - 3 - motif_at(other, STOPS)))
    lefts, rights = (Ends(*np.concatenate(parts, axis=1)) for parts in (left_parts, right_parts))
    # Left nodes: those of whole exons first, by column, position, and inner before outer ones, which is the
    # order of the keys of `_ranges`. A split codon is told at the right node: on the reverse strand it was
    # found at the left one.
    order = np.lexsort((lefts.inner < 1, lefts.position, lefts.column, ~lefts.whole))
    lefts = Ends(*(of[order] for of in lefts))
    first, last, edge = _ranges(lefts, rights, stops)
    some = np.flatnonzero(first < last)
    # right nodes by position, those of one splice site next to each other; without those that no exon ends at
    order = np.lexsort((~rights.whole, rights.column % 3, ~rights.inner, rights.column // 3, rights.position))
    order = order[np.isin(order, some, assume_unique=True)]
    rights = Ends(*(of[order] for of in rights._replace(edge=edge)))
    opening, opening_first, openings, opening_masks = _groups(rights)
    closing, _, closings, closing_masks = _groups(lefts)
    left_site, right_site, sites = _sites(lefts, rights)
    left = lefts.position, lefts.column, closing, lefts.mask, left_site, np.lexsort((closing, lefts.position))
    right = rights.position, rights.column, opening, rights.mask, right_site, rights.edge
    splices = openings, opening_masks, closings, closing_masks, opening_first
    return Nodes(*left, *right, first[order], last[order], *splices, *sites)


def _ranges(lefts: Ends, rights: Ends, stops: Sequence[IntArray]) -> tuple[IntArray, IntArray, IntArray]:
    """Which left nodes the exons of each right node may begin at, and its split codon."""
    # Left nodes are by column and position, so those of a right node follow each other: from the last stop
    # codon in its frame before it, up to three bases before. Keys are 2 position, and 1 more for outer nodes,
    # which tells a gene that begins at a position, on the reverse strand with its stop codon, from an exon
    # that does.
    first, last = np.zeros(rights.position.size, np.int64), np.zeros(rights.position.size, np.int64)
    edge = np.full(rights.position.size, -1)
    whole = np.flatnonzero(lefts.whole)
    keys = 2 * lefts.position + ~lefts.inner
    for column in range(3 * len(stops)):
        of_left = whole[lefts.column[whole] == column]
        offset = int(of_left[0]) if of_left.size else 0
        some = np.flatnonzero(rights.whole & (rights.column == column))
        position, inner = rights.position[some], rights.inner[some]
        of_strand = stops[column // 3]
        frame_stops = np.concatenate(([_NONE], of_strand[of_strand % 3 == column % 3]))
        if column < 3:  # after the stop codon before, which is not the one that the exon ends with
            limit = position - 3 * (1 + ~inner)
            stop = frame_stops[np.searchsorted(frame_stops, limit, "right") - 1]
            least = 2 * stop + 2
        else:  # from the stop codon before on, if the gene begins with it
            stop = frame_stops[np.searchsorted(frame_stops, position - 3, "right") - 1]
            least = 2 * stop + 1
        first[some] = offset + np.searchsorted(keys[of_left], least, "left")
        last[some] = offset + np.searchsorted(keys[of_left], 2 * (position - 3) + 1, "right")
    # exons of one or two bases have a pair of nodes of their own
    x, r = (np.flatnonzero(~side.whole)[np.argsort(side.pair[~side.whole])] for side in (lefts, rights))
    first[r], last[r], edge[r] = x, x + 1, np.maximum(lefts.edge[x], rights.edge[r])
    return first, last, edge


def _groups(side: Ends) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Splice sites: that of each inner node (-1 for outer ones), where strands begin, positions, types."""
    inner, strand = np.flatnonzero(side.inner), side.column // 3
    most = int(side.position.max(initial=0)) + 1
    keys, numbers = np.unique(strand[inner] * most + side.position[inner], return_inverse=True)
    found, masks = np.full(side.position.size, -1), np.zeros(keys.size, np.int64)
    found[inner] = numbers.ravel()
    np.bitwise_or.at(masks, found[inner], side.mask[inner])
    return found, np.searchsorted(keys, most * np.arange(3)), keys % most, masks


def _sites(lefts: Ends, rights: Ends) -> tuple[IntArray, IntArray, tuple[Array, Array, Array]]:
    """The site of each node (the number of sites for none); position, strand and signal of each."""
    # the signal of several nodes at a position is one site: it is scored once
    both, n_left = Ends(*np.concatenate([lefts, rights], axis=1)), lefts.position.size
    most, some = 1 + int(both.position.max(initial=0)), both.signal >= 0
    all_keys = (both.signal * 2 + both.column // 3) * most + both.position
    keys, numbers = np.unique(all_keys[some], return_inverse=True)
    found, what = np.full(both.position.size, keys.size), keys // most
    found[some] = numbers.ravel()
    return found[:n_left], found[n_left:], (keys % most, what % 2 > 0, what // 2)


# --- genes as paths, the column that emits each position ----------------------------------------------------


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
            raise DataError(
                f"transcript {t.name} ends at {t.end}, beyond the sequence of {plural(n, 'base')}"
            )
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
    found = list[tuple[int, int]]()
    is_between = np.concatenate(([True], path == weights.n_columns - 1, [True]))
    for a, b in _runs(path < 3 * weights.n_strands):
        # one right node there alone is joined with a left one here, also of exons of one or two bases
        for r in range(*np.searchsorted(nodes.right_position, np.array([b, b + 1], np.int32)).tolist()):
            some = np.arange(nodes.right_first[r], nodes.right_last[r])
            is_here = (nodes.left_position[some] == a) & ((nodes.left_closing[some] < 0) == is_between[a])
            is_end = nodes.right_column[r] == path[a] and (nodes.right_opening[r] < 0) == is_between[b + 1]
            if is_end and is_here.any():
                found.append((int(some[np.argmax(is_here)]), r))
                break
        else:
            found.append((-1, -1))
    lefts, rights = np.array(found, np.int64).reshape(-1, 2).T
    return lefts, rights


def wrong_exon(nodes: Nodes, lefts: IntArray, rights: IntArray, shortest: int) -> int:
    """The first exon of a walk that is none, or does not follow the one before it; -1 if all do."""
    n, n_all = int(np.argmax(np.append(lefts, -1) < 0)), len(lefts)  # those before are exons
    x, r = lefts[:n], rights[:n]
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
