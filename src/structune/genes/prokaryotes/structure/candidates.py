"""Candidate genes: start codons with the next stop codon in their frame, their features, and shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import genetic_code
from structune.genes.kernels.words import words
from structune.genes.nucleotides import LETTERS, Letters, encode_letters, reverse_complement
from structune.genes.prokaryotes.kernels.orf_graph import Ends, Words
from structune.genes.prokaryotes.kernels.ribosome_sites import (
    MOST_SPACING,
    RUNS,
    SHORTEST_RUN,
    SPACING_STARTS,
    SPACINGS,
    ribosome_sites,
)
from structune.structure import (
    Array,
    FloatArray,
    IntArray,
    Shard,
    check_offsets,
    check_range,
    offsets_of,
    segment_indices,
)

BASES = "ACGT"
CODON, WORD = 3, 6
STARTS = ("ATG", "GTG", "TTG")
EDGE = "Edge"  # in place of the start codon of a gene that begins before its sequence
BACTERIAL, WITHOUT_TGA = 11, 4  # genetic codes: that of nearly all, and that by which TGA is no stop codon
# upstream as far as promoters reach, and four codons behind the start codon, which itself is in no context
CONTEXT = np.concatenate((np.arange(-40, 0), np.arange(3, 15)))  # of a start codon
LENGTHS = np.array([0, 120, 150, 200, 300, 450, 700, 1000, 1500, 2200])
# Names of the weights of signals, in order. Lengths and spacings are those at which a bin begins; the longest
# run stands for longer ones.
_SITES = product(range(SHORTEST_RUN, SHORTEST_RUN + RUNS), SPACING_STARTS)
SIGNALS = {
    "starts": list(STARTS),
    "ribosome site": [*(f"run {run}, spacing {start}" for run, start in _SITES), "none"],
    "lengths": list(map(str, LENGTHS)),
    "context": [f"{place:+d} {base}" for place in CONTEXT for base in BASES],
}
N_SIGNALS = len(SIGNALS) - 1 + CONTEXT.size  # of a candidate
# the first place of each kind among their weights, and behind all the one of what is not known
*_FIRST, UNKNOWN = np.cumsum([0, *map(len, SIGNALS.values())]).tolist()
WORDS, FRAMES, CANDIDATES, LEFTS, RIGHTS = range(5)  # rows of `OrfShard.offsets`
LEVELS = {
    WORDS: ("words",),
    FRAMES: ("n_words", "n_candidates"),
    CANDIDATES: ("skipped", "right_of", "bounds", "reverse", "signals", "chosen"),
    LEFTS: ("left_position", "left_strand", "first_candidate", "last_candidate"),
    RIGHTS: ("right_position", "right_strand"),
}
_POSITIONS = {CANDIDATES: ("skipped", "right_of"), LEFTS: LEVELS[LEFTS], RIGHTS: LEVELS[RIGHTS]}
_MOST_BASES = 1 << 40  # of a sequence: sums of them fit
_AROUND = int(CONTEXT[-1] - CONTEXT[0]) + 1  # bases in a row that are looked at
_AT_ONCE = 1024  # frames whose words are looked up together
_CUT_SHORT = 1000  # bases of a gene that ends behind its sequence
Gene = tuple[int, int, str]  # first base, the one behind the last, strand


def count_words(letters: Letters) -> IntArray:
    """How often each word of two codons is at any place of both strands, by number."""
    found = np.empty((2, letters.size), np.int16)
    words(letters, WORD, *found)
    return np.asarray(np.sum([np.bincount(each, minlength=4**WORD + 1) for each in found], axis=0)[:-1])


def numbers_at(letters: Letters, places: IntArray, length: int) -> NDArray[np.int16]:
    """Words of up to six from some places on as numbers in base 4; ``4 ** length`` for an unknown base."""
    found, is_known = np.zeros(places.size, np.int16), np.ones(places.size, bool)
    for k in range(length):
        letter = letters[k:][places]
        found = len(BASES) * found + letter
        is_known &= letter < len(BASES)
    found[~is_known] = len(BASES) ** length
    return found


def codons_at(letters: Letters, codons: Iterable[str]) -> NDArray[np.bool_]:
    """Whether one of the codons begins at each position."""
    a, b, c = letters[:-2], letters[1:-1], letters[2:]
    found = np.zeros(a.size, bool)
    for x, y, z in (map(LETTERS.index, codon) for codon in codons):
        found |= (a == x) & (b == y) & (c == z)
    return found


def _by_codon(codons: Sequence[str]) -> NDArray[np.int8]:
    """Place among the codons by the number of a codon, or -1; shape (65,)."""
    found = np.full(len(BASES) ** CODON + 1, -1, np.int8)
    letters = encode_letters("".join(codons), "codons")
    found[numbers_at(letters, CODON * np.arange(len(codons)), CODON)] = range(len(codons))
    return found


START_KIND = _by_codon(STARTS)


@dataclass(frozen=True)
class OrfRules:
    """Rules for candidate genes and for their overlap.

    Parameters
    ----------
    code : int
        NCBI number of the genetic code, which gives the stop codons: 11, or 4 for Mycoplasma.
    shortest : int
        Length of the shortest gene in bases, with start and stop codon.
    overlap : int
        Largest overlap of neighboring genes in bases; less than `shortest`.
    far : int
        Gaps between genes of at least this many bases share one weight.
    """

    code: int = 11
    shortest: int = 90
    overlap: int = 60
    far: int = 300

    def __post_init__(self) -> None:
        genetic_code(self.code)
        fewer = f"expected a number from 0 to less than the shortest gene, {self.shortest} bases"
        both = "expected at least 6 bases, a start and a stop codon"
        for name, is_sound, expected in (
            ("overlap", 0 <= self.overlap < self.shortest, fewer),
            ("shortest", self.shortest >= 2 * CODON, both),
            ("far", self.far >= 1, "expected 1 or more"),
        ):
            if not is_sound:
                raise DataError(f"{name}={getattr(self, name)!r}: {expected}")

    @cached_property
    def is_stop(self) -> NDArray[np.bool_]:
        """Whether each codon is a stop codon, by codon number, shape (65,)."""
        return _by_codon(genetic_code(self.code).stop_codons) >= 0

    def has_stops(self, code: int) -> bool:
        """Return whether the genetic code with the NCBI number `code` has the same stop codons."""
        return set(genetic_code(self.code).stop_codons) == set(genetic_code(code).stop_codons)

    def ends(self, letters: Letters, strand: str) -> tuple[tuple[bool, bool], str]:
        """Return whether a gene continues before and after its letters; and its start codon, or "Edge"."""
        along = reverse_complement(letters) if strand == "-" else letters
        first, last = numbers_at(along, np.array([0, along.size - CODON]), CODON)
        kind = int(START_KIND[first])
        lacks = kind < 0, along.size % CODON != 0 or not self.is_stop[last]
        return (lacks[::-1] if strand == "-" else lacks), EDGE if kind < 0 else STARTS[kind]


# --- signals: places of what candidates have among the weights of start codons, sites, lengths and bases ---


def signals_of(kinds: Array, sites: Array, lengths: Array, context: Array) -> NDArray[np.uint8]:
    """Signals of candidates, shape (n, N_SIGNALS); lengths are -1 where they are not known, and the context
    has letters at `CONTEXT`, shape (n, n_places).
    """
    # A candidate's signals are places in one table of weights: its start codon, ribosome site, length, and
    # the letter at each place around. What is not known has a place of its own behind all others, with the
    # score 0. There are fewer than 256 places, so a byte is enough.
    bins = np.searchsorted(LENGTHS, lengths, side="right") - 1
    firsts = (_FIRST[3] + len(BASES) * np.arange(CONTEXT.size)).astype(np.uint8)
    bases = firsts + context.astype(np.uint8)
    bases[context == len(BASES)] = UNKNOWN
    of_length = np.where(lengths < 0, UNKNOWN, _FIRST[2] + bins)
    others = np.column_stack((kinds, _FIRST[1] + sites, of_length))
    return np.column_stack((others.astype(np.uint8), bases))


def read_signals(signals: NDArray[np.uint8]) -> tuple[IntArray, IntArray, NDArray[np.int8]]:
    """Kinds of start codons, ribosome sites, and letters at `CONTEXT`, of what `signals_of` made."""
    letters = signals[:, 3:].astype(np.int16) - _FIRST[3] - len(BASES) * np.arange(CONTEXT.size)
    letters[signals[:, 3:] == UNKNOWN] = len(BASES)
    kinds, sites = (signals[:, :2].astype(np.int64) - _FIRST[:2]).T
    return kinds, sites, letters.astype(np.int8)


def site_notes(signals: NDArray[np.uint8]) -> tuple[tuple[str, str], ...]:
    """The ribosome-binding site of a candidate: bases that match, and their distance from the start."""
    site = int(signals[1]) - _FIRST[1]
    if site == RUNS * SPACINGS:
        return (("rbs_match", "none"),)
    run, spacing = divmod(site, SPACINGS)
    first, end = [*SPACING_STARTS, MOST_SPACING][spacing : spacing + 2]
    return ("rbs_match", f"{SHORTEST_RUN + run}bp"), ("rbs_spacer", f"{first}-{end - 1}bp")


# --- shards -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OrfShard(Shard):
    """Encoded sequences, one after the other. Frames are open reading frames with a candidate, those of the
    forward strand first; candidates come frame by frame. Places of candidates and of ends count within their
    sequence."""

    n_bases: IntArray  # of each sequence
    offsets: IntArray  # (5, n_sequences + 1): where the items of each level begin in each sequence
    words: NDArray[np.int16]
    n_words: IntArray  # of each frame
    n_candidates: IntArray
    skipped: IntArray  # words of the frame before each candidate's start
    right_of: IntArray  # the right end of each candidate
    bounds: IntArray  # (n_candidates, 2): first base, and that behind the last
    reverse: NDArray[np.bool_]  # of each candidate
    signals: NDArray[np.uint8]  # (n_candidates, n_signals): their places among the weights of signals
    chosen: NDArray[np.int8]  # which candidates are the genes; empty without outputs
    left_position: IntArray  # of ends, as `kernels.orf_graph.Ends` has them
    left_strand: IntArray
    first_candidate: IntArray
    last_candidate: IntArray
    right_position: IntArray
    right_strand: IntArray

    levels: ClassVar = LEVELS

    @property
    def n_parts(self) -> int:
        return int(self.n_bases.sum())

    def sizes(self) -> IntArray:
        return self.n_bases

    def part(self, s: int, level: int) -> slice:
        """Where the words, frames, ... of a sequence are."""
        return slice(self.offsets[level, s], self.offsets[level, s + 1])

    @property
    def ends(self) -> tuple[Ends, tuple[IntArray, ...]]:
        """Ends, and where candidates, left and right ends of each sequence begin."""
        return Ends(*(getattr(self, name) for name in Ends._fields)), tuple(self.offsets[CANDIDATES:])

    @property
    def frame(self) -> IntArray:
        return np.repeat(np.arange(self.n_candidates.size), self.n_candidates)

    def frame_sums(self, values: Array) -> Array:
        """Of each candidate the sum over those of its frame."""
        frame = self.frame
        return np.bincount(frame, values, minlength=self.n_candidates.size)[frame]

    def by_candidate(self, values: Array) -> Array:
        """Of each candidate, what is given by sequence."""
        return np.repeat(values, np.diff(self.offsets[CANDIDATES]))

    @property
    def begin_before(self) -> NDArray[np.bool_]:
        """Whether candidates may begin before their sequence, as all within its first codon."""
        behind = self.by_candidate(self.n_bases) - self.bounds[:, 1]
        return np.asarray(np.where(self.reverse, behind, self.bounds[:, 0]) < CODON)

    @property
    def frames(self) -> Words:
        return Words(self.words, self.n_words, self.n_candidates, self.skipped)

    def take(self, indices: Any) -> Self:
        chosen = self._chosen(indices)
        counts = np.diff(self.offsets, axis=1)[:, chosen]
        taken: dict[str, Array] = {"weights": self.weights[chosen], "n_bases": self.n_bases[chosen]}
        for level, names in self.levels.items():
            # each level has offsets of its own: sequences may have many words and few ends
            places = segment_indices(self.offsets[level], chosen)
            taken |= {name: getattr(self, name)[places] for name in names if getattr(self, name).size}
        return replace(self, offsets=np.array([offsets_of(each) for each in counts]), **taken)

    def check(self, rules: OrfRules) -> None:
        """Refuse arrays of a file that are of other types or shapes, out of range, or not of candidates."""
        n, offsets = len(self), self.offsets
        if offsets.shape != (len(LEVELS), n + 1):
            raise DataError(f"offsets have the shape {offsets.shape}, but must have {(len(LEVELS), n + 1)}")
        sizes = {level: len(getattr(self, names[0])) for level, names in LEVELS.items()}
        for level, size in sizes.items():
            check_offsets(offsets[level], n, size)
        check_range("bases", self.n_bases, np.int64, (n,), 0, _MOST_BASES)
        check_range("words", self.words, np.int16, (sizes[WORDS],), 0, 4**WORD + 1)
        frames, candidates = (sizes[FRAMES],), (sizes[CANDIDATES],)
        check_range("numbers of words", self.n_words, np.int64, frames, 0, sizes[WORDS] + 1)
        check_range("numbers of candidates", self.n_candidates, np.int64, frames, 1, sizes[CANDIDATES] + 1)
        check_range("bounds", self.bounds, np.int64, (*candidates, 2), 0, _MOST_BASES)
        check_range("strands", self.reverse, bool, candidates, 0, 2)
        check_range("signals", self.signals, np.uint8, (*candidates, N_SIGNALS), 0, UNKNOWN + 1)
        check_range("genes", self.chosen, np.int8, candidates, 0, 2)
        for level, names in _POSITIONS.items():
            for name in names:
                check_range(name, getattr(self, name), np.int64, (sizes[level],), 0, _MOST_BASES)
        for level, counts in ((WORDS, self.n_words), (CANDIDATES, self.n_candidates)):
            if not np.array_equal(offsets_of(counts)[offsets[FRAMES]], offsets[level]):
                raise DataError(
                    "the words or candidates of the frames do not add up to those of the sequences"
                )
        if np.any(self.bounds[:, 1] > self.by_candidate(self.n_bases)):
            raise DataError("a candidate gene ends beyond its sequence")
        # what does not follow from the bounds of the candidates
        bounds, counts = self.bounds, self.n_candidates
        first = offsets_of(counts)[:-1]
        frame, of_frame = self.frame, self.reverse[first]
        sequence = np.repeat(np.arange(len(self)), np.diff(self.offsets[FRAMES]))

        def refuse(wrong: Array, level: int, problem: str) -> None:
            if wrong.any():
                s = np.searchsorted(self.offsets[level], np.argmax(wrong), side="right") - 1
                raise DataError(f"sequence {s}: found {problem}")

        back = np.diff(2 * sequence + of_frame, prepend=0) < 0
        refuse(back, FRAMES, "frames of the reverse strand before those of the forward strand")
        # Along its own strand a candidate goes from its start to its stop; on the reverse strand positions
        # are negated, so that both strands obey the same rules: one stop a frame, and starts that rise.
        is_reverse = of_frame[frame]
        starts = np.where(is_reverse, -bounds[:, 1], bounds[:, 0])
        stops = np.where(is_reverse, -bounds[:, 0], bounds[:, 1])
        lengths, is_later = stops - starts, np.diff(frame, prepend=-1) == 0
        problem = f"candidates that are not whole codons of {rules.shortest} bases or more"
        refuse((lengths % CODON > 0) | (lengths < rules.shortest), CANDIDATES, problem)
        problem = "candidates of a frame with several stops, or not in the order of their starts"
        wrong = (stops != stops[first][frame]) | (is_later & (np.diff(starts, prepend=0) <= 0))
        refuse(wrong, CANDIDATES, problem)
        # the rest follows from bounds: a file that says something else was damaged or made up
        given = {name: getattr(self, name) for name in ("words", "bounds", "signals", "chosen")}
        n_words, skipped = lengths[first] // CODON - 2, (starts - starts[first][frame]) // CODON
        given |= {"n_candidates": counts, "n_words": n_words, "skipped": skipped}
        expected = shard_of_frames(sequence, of_frame, self.n_bases, self.weights, **given)
        others = " that do not follow from the bounds of the candidates"
        for level, row in enumerate(self.offsets[LEFTS:] == expected.offsets[LEFTS:], LEFTS):
            if not row.all():
                raise DataError(f"sequence {np.argmin(row) - 1}: found {LEVELS[level][0]}{others}")
        for level, names in LEVELS.items():
            for name in names:
                refuse(getattr(self, name) != getattr(expected, name), level, name + others)


def mark_genes(shard: OrfShard, s: int, genes: Iterable[Gene], name: str, chosen: NDArray[np.int8]) -> None:
    """Mark the candidates of a sequence that are the genes."""
    part = shard.part(s, CANDIDATES)
    keys = zip(*shard.bounds[part].T.tolist(), shard.reverse[part].tolist(), strict=True)
    places = dict(zip(keys, range(part.start, part.stop), strict=True))
    for start, end, strand in genes:
        if (start, end, strand == "-") not in places:
            raise DataError(f"{name}: the gene {start}-{end}({strand}) is not an open reading frame")
        chosen[places[start, end, strand == "-"]] = 1


# --- from letters ------------------------------------------------------------------------------------------


def encode_frames(
    letters: Sequence[Letters], rules: OrfRules, is_open: bool, weights: FloatArray
) -> OrfShard:
    """The frames of sequences, on both strands, as a shard. With `is_open` genes may go beyond the ends, and
    count as if they began with ATG at the first whole codon, or had a stop codon behind the last one, and a
    thousand bases."""
    # One text of both strands of each sequence, so that all of them are gone through at once. Between them
    # are as many unknown bases as are looked at around a start: no strand sees another one.
    apart = np.full(_AROUND, 4, np.int8)
    strands = (strand for part in letters for strand in (part, apart, reverse_complement(part), apart))
    text = np.concatenate([apart, *strands])
    n_bases = np.array([part.size for part in letters], np.int64)
    sizes = np.repeat(n_bases, 2)
    ends = np.cumsum(sizes + _AROUND)  # of the strands in the text
    begins = ends - sizes
    # The three positions behind the last whole codons of a strand are one of each frame. They stand for stop
    # codons that nobody sees.
    is_stop = codons_at(text, genetic_code(rules.code).stop_codons)
    is_stop[ends[:, None] - np.arange(CODON)] = True
    is_start = codons_at(text, STARTS)
    if is_open:
        is_start[begins[sizes >= rules.shortest, None] + np.arange(CODON)] = True
    # each start with the next stop of its frame, which is its position modulo 3
    starts, every_stop = np.flatnonzero(is_start), np.flatnonzero(is_stop)
    del is_start, is_stop  # of all bases, which is much beside what is found
    stops = np.empty_like(starts)
    for frame in range(CODON):
        own, of_frame = starts % CODON == frame, every_stop[every_stop % CODON == frame]
        stops[own] = of_frame[np.searchsorted(of_frame, starts[own])]
    strand = np.searchsorted(begins, starts, side="right") - 1
    is_seen = stops + CODON <= ends[strand]
    last = np.minimum(stops + CODON, ends[strand])
    # a start that is a stop codon is none, and of a gene as many bases as the shortest has must be seen
    kept = np.flatnonzero((stops > starts) & (last - starts >= rules.shortest) & (is_seen | is_open))
    kept = kept[np.argsort(stops[kept], kind="stable")]
    starts, stops, strand, is_seen, last = starts[kept], stops[kept], strand[kept], is_seen[kept], last[kept]
    # A gene that goes on behind the sequence is at least as long as what is seen of it, and counts as one of
    # a thousand bases. Of one without a start codon the length is not known.
    kinds, lengths = START_KIND[numbers_at(text, starts, CODON)], stops + CODON - starts
    lengths[~is_seen] = np.maximum(lengths[~is_seen], _CUT_SHORT)
    lengths[kinds < 0] = -1
    sites = np.empty(starts.size, np.int8)
    ribosome_sites(text, starts, sites)
    around = sliding_window_view(text, _AROUND)[starts + CONTEXT[0]]
    # frames begin at their first start; words of two codons go from there to before the stop codon
    first = np.flatnonzero(np.diff(stops, prepend=-1))
    counts, n_words = np.diff(first, append=starts.size), (stops - starts)[first] // CODON - 1
    # what was found along the reverse strand is told by positions on the forward one
    reverse, along = strand % 2 == 1, np.column_stack((starts, last)) - begins[strand, None]
    return shard_of_frames(
        strand[first] // 2,
        reverse[first],
        n_bases,
        weights,
        n_candidates=counts,
        n_words=n_words,
        bounds=np.where(reverse[:, None], sizes[strand, None] - along[:, ::-1], along),
        signals=signals_of(np.maximum(kinds, 0), sites, lengths, around[:, CONTEXT - CONTEXT[0]]),
        skipped=(starts - np.repeat(starts[first], counts)) // CODON,
        words=_words(text, starts[first], n_words),
        chosen=np.empty(0, np.int8),
    )


def _words(text: Letters, first: IntArray, n_words: IntArray) -> NDArray[np.int16]:
    """So many words of two codons from the first base of each frame on, codon by codon."""
    found = []
    for k in range(0, first.size + 1, _AT_ONCE):  # places take more memory than words
        counts = n_words[k : k + _AT_ONCE]
        places = np.repeat(first[k : k + _AT_ONCE] - CODON * offsets_of(counts)[:-1], counts)
        found.append(numbers_at(text, places + CODON * np.arange(places.size), WORD))
    return np.concatenate(found)


def shard_of_frames(
    sequence: IntArray, reverse: NDArray[np.bool_], n_bases: IntArray, weights: FloatArray, **arrays: Any
) -> OrfShard:
    """A shard of frames by their sequences and strands, and of the arrays that are not of ends."""
    # On the forward strand each start is a left end and each stop, of a frame, a right one; on the reverse
    # strand it is the other way round. So ends are those of runs of candidates: single ones of one strand,
    # and whole frames of the other. Sorting by sequence, position and strand gives their places.
    counts, bounds, n = arrays["n_candidates"], arrays["bounds"], len(n_bases)
    is_reverse, of, every = np.repeat(reverse, counts), np.repeat(sequence, counts), np.arange(counts.sum())
    offsets = [offsets_of(np.bincount(of, minlength=n))]
    for side, name in enumerate(("left", "right")):
        others = np.flatnonzero(reverse != side)
        first = np.append(every[is_reverse == side], offsets_of(counts)[others])
        sizes = np.append(np.ones(first.size - others.size, np.int64), counts[others])
        order = np.lexsort((is_reverse[first], bounds[first, side], of[first]))
        first, sizes = first[order], sizes[order]
        arrays[f"{name}_position"] = bounds[first, side]
        arrays[f"{name}_strand"] = is_reverse[first].astype(np.int64)
        offsets.append(offsets_of(np.bincount(of[first], minlength=n)))
        if name == "left":  # its candidates, within the sequence
            arrays["first_candidate"] = first - offsets[0][of[first]]
            arrays["last_candidate"] = arrays["first_candidate"] + sizes
    by_candidate = np.argsort(first)  # the runs of right ends share out all candidates
    arrays["right_of"] = np.repeat(by_candidate, sizes[by_candidate]) - offsets[2][of]
    frames = np.searchsorted(sequence, np.arange(n + 1))  # where those of each sequence begin
    every_offset = np.array([offsets_of(arrays["n_words"])[frames], frames, *offsets])
    return OrfShard(weights, n_bases, every_offset, reverse=is_reverse, **arrays)


def with_candidates(shard: OrfShard, inside: NDArray[np.bool_], sequence: IntArray | None = None) -> OrfShard:
    """A shard of some of the candidates: of a frame those from one on. Frames may get into other sequences:
    `sequence` is then that of each, and the shard has their sizes."""
    if sequence is None:
        sequence = np.repeat(np.arange(len(shard)), np.diff(shard.offsets[FRAMES]))
    # by sequence and strand; frames of a strand keep their order
    kept, frame = np.flatnonzero(inside), shard.frame
    kept = kept[np.argsort(2 * sequence[frame[kept]] + shard.reverse[kept], kind="stable")]
    first = np.flatnonzero(np.diff(frame[kept], prepend=-1))
    frames, counts = frame[kept[first]], np.diff(first, append=kept.size)
    # Of a frame the last candidates stay, with the last starts: its words now begin at the first of these, so
    # the words before, which `skipped` counts, go.
    before = shard.skipped[kept[first]]
    n_words = shard.n_words[frames] - before
    of_words = np.repeat(offsets_of(shard.n_words)[frames] + before - offsets_of(n_words)[:-1], n_words)
    return shard_of_frames(
        sequence[frames],
        shard.reverse[kept[first]],
        shard.n_bases,
        shard.weights,
        n_candidates=counts,
        n_words=n_words,
        words=shard.words[of_words + np.arange(of_words.size)],
        skipped=shard.skipped[kept] - np.repeat(before, counts),
        bounds=shard.bounds[kept],
        signals=shard.signals[kept],
        chosen=shard.chosen[kept] if shard.chosen.size else shard.chosen,
    )


def cut(shard: OrfShard, pieces: IntArray) -> OrfShard:
    """A shard of pieces of the sequences: candidates that lie within one. Rows of `pieces` are a sequence,
    first base, and the one behind the last: rising, and apart."""
    at, first, frame = offsets_of(shard.n_bases), offsets_of(shard.n_candidates)[:-1], shard.frame
    bounds = shard.bounds + shard.by_candidate(at[:-1])[:, None]
    # Candidates of a frame share its stop, so the piece of the stop is that of all that are kept. A start
    # that lies before this piece does not count: then a later start of the frame may.
    stops = np.where(shard.reverse[first], bounds[first, 0] + 1, bounds[first, 1])  # behind one of its bases
    begins, ends = at[pieces[:, 0]] + pieces[:, 1], at[pieces[:, 0]] + pieces[:, 2]
    piece = np.searchsorted(begins, stops, side="left") - 1
    begin, end = np.append(begins, 0)[piece][frame], np.append(ends, 0)[piece][frame]  # of none, nothing
    inside = (bounds[:, 0] >= begin) & (bounds[:, 1] <= end)
    sizes, bounds = pieces[:, 2] - pieces[:, 1], bounds - begin[:, None]
    moved = replace(shard, bounds=bounds, n_bases=sizes, weights=np.ones(len(pieces)))
    return with_candidates(moved, inside, piece)


def clear_of(shard: OrfShard, avoided: NDArray[np.bool_], most: int) -> OrfShard:
    """Without the candidates that have more than so many bases that are to be avoided, which are marked."""
    # `before` counts marked bases up to each position, over all sequences one behind the other
    before = np.concatenate(([0], np.cumsum(avoided)))
    bounds = shard.bounds + shard.by_candidate(offsets_of(shard.n_bases)[:-1])[:, None]
    return with_candidates(shard, before[bounds[:, 1]] - before[bounds[:, 0]] <= most)
