"""Where genes begin: a model of start signals, trained on a genome without known starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.files.models import Arrays, check_array
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.kernels.ribosome_sites import RUNS, SPACINGS
from structune.genes.prokaryotes.structure import candidates
from structune.genes.prokaryotes.structure.orf_graph import Chosen, OrfGraph
from structune.structure import FloatArray, IntArray, offsets_of

Bases = NDArray[np.int8]  # (n_places, n_starts)
DISTANCES = np.array([-60, -28, -10, -4, -3, -1, 0, 5, 15, 30, 60, 100, 200, 400])  # from the gene before
N_NEIGHBOURS = 2 * (DISTANCES.size + 1)  # on the same strand, or on the other one
_NEAR = int(np.searchsorted(DISTANCES, 30))  # bins of genes that one messenger RNA may have
_BEHIND = np.array([1, 30, 60, 120, 240, 480])  # bases from the first start codon of the frame on
_APART = 1 << 20  # between sequences
_N_UPSTREAM = int((candidates.CONTEXT < 0).sum())  # letters in a row, up to the start
_N_WORDS = 4**candidates.WORD + 1
_FIRST_WORD, _LAST_WORD = -16, 15  # of those near a start
_CODONS = np.array([0.75, 0.16, 0.09])  # of ATG, GTG, TTG among starts
_SITUATIONS, _N_CLASSES = 3, 3
_MOTIFS = {  # at first; the first and last place of their first bases; shares of starts, of a class or of all
    "site": ("AGGAGG", -20, -9, 0.9),
    "box": ("TANNNT", -18, -7, 0.9),
    "promoter": ("TATAAT", -40, -20, 0.2),
}
_AROUND = ("far before", "before", "at", "second codon", "behind")  # bases around starts that count alike
_GROUP = np.searchsorted([-20, -3, 0, 6], candidates.CONTEXT, side="right")  # of each place, among these
WEIGHTS = {  # of log odds, as training/prokaryotic_starts.py fits them
    "words behind": 0.16,
    "words before": -0.08,
    "words": 0.09,
    "codon": 1.1,
    "codon of any genome": 0.38,
    "class": 1.0,
    "promoter": 0.54,
    "bases far before": 0.2,
    "bases before": 0.2,
    "bases at": 0.46,
    "bases second codon": 0.51,
    "bases behind": 0.65,
    "neighbour": 1.27,
    "behind the first": 0.58,
    "match with 16S RNA": 0.63,
}
_SHAPES = {  # of arrays in files
    "words": (_N_WORDS,),
    "codons": (len(candidates.STARTS),),
    "sites": (RUNS * SPACINGS + 1,),
    "context": (candidates.CONTEXT.size, 5),
    "neighbours": (N_NEIGHBOURS,),
    "behind": (_BEHIND.size + 1,),
    "classes": (_SITUATIONS, _N_CLASSES),
    "background": (4,),
}
_LOG_ODDS = tuple(_SHAPES)[:-2]  # of which the others are probabilities
for _name, (_text, _first, _last, _) in _MOTIFS.items():
    _SHAPES |= {f"{_name}_bases": (len(_text), 4), f"{_name}_places": (_last - _first + 1,)}
    _SHAPES[f"{_name}_share"] = (1,)
_SURE = 0.7  # probability of the bases of a motif that nothing has been seen of, beside that of any base
_PRIOR = 0.2  # what a motif weighs that nothing has been seen of, in shares of what was seen
_FEW_BASES, _FEW_STARTS, _FEW_WORDS = 8.0, 300.0, 1.0  # seen before: of a motif, of all, and of each word
_NEGLIGIBLE = 1e-4  # probability of a start that teaches nothing
_FRAME = 1e3  # score of a gene, more than all that is said of starts
_FEWEST = 200  # genes that it is learned from
_STEPS = 8
_OTHERS = -2.0  # log odds of other start codons than ATG, at first
_CLASSES = np.array([0.5, 0.1, 0.3])  # with ribosome-binding site, without leader, others


# --- candidate starts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choices:
    """All candidates that end as one of the genes do, and what is seen of each."""

    places: IntArray  # of the candidates in the shard
    gene: IntArray  # of each candidate, from 0, rising
    chosen: NDArray[np.bool_]  # where genes begin so far
    kinds: IntArray  # of start codons
    sites: IntArray  # of ribosome-binding sites
    letters: Bases  # (n_context, n_candidates): at `CONTEXT`
    before: IntArray  # bin of the distance from the gene before, and whether that is on the same strand
    words: kernels.Words  # of the genes' frames

    @classmethod
    def of(cls, shard: candidates.OrfShard, chosen: Chosen, neighbours: Chosen | None = None) -> Choices:
        """Those of the genes that are chosen; `neighbours` are these, and others beside them."""
        inside = shard.frame_sums(chosen) > 0
        places, part = np.flatnonzero(inside), candidates.with_candidates(shard, inside)
        kinds, sites, letters = candidates.read_signals(part.signals)
        before = _before(shard, places, chosen if neighbours is None else neighbours)
        by_place = np.ascontiguousarray(letters.T)
        is_start = chosen[places].astype(bool)
        return cls(places, part.frame, is_start, kinds, sites, by_place, before, part.frames)

    def __len__(self) -> int:
        return self.places.size

    @property
    def upstream(self) -> NDArray[np.int8]:
        """The letters from the first place of `CONTEXT` up to each start."""
        return self.letters[:_N_UPSTREAM]

    @cached_property
    def situation(self) -> IntArray:
        """0 near behind a gene on the same strand, 1 farther behind one, 2 behind one on the other strand."""
        return np.asarray(np.searchsorted([_NEAR, N_NEIGHBOURS // 2], self.before, side="right"))

    @cached_property
    def behind(self) -> IntArray:
        """Bin of the distance from the first start codon of the frame."""
        return np.asarray(np.searchsorted(_BEHIND, candidates.CODON * self.words.skipped, side="right"))

    @cached_property
    def words_near(self) -> IntArray:
        """The words from `_FIRST_WORD` to before `_LAST_WORD`, by row, counted from each start."""
        # beyond the first and last word of the frame they are unknown, which score nothing
        at = self.words.skipped + np.arange(_FIRST_WORD, _LAST_WORD)[:, None]
        inside = (at >= 0) & (at < self.words.n_words[self.gene])
        places = np.where(inside, offsets_of(self.words.n_words)[self.gene] + at, -1)
        return np.append(self.words.words, np.int16(_N_WORDS - 1))[places]

    def shares(self, scores: FloatArray) -> FloatArray:
        """The probability of each start among those of its gene, by scores."""
        # softmax over the candidates of each gene; the highest score is taken out of exponents
        begins = np.flatnonzero(np.diff(self.gene, prepend=-1))
        highest = np.maximum.reduceat(scores, begins) if begins.size else np.empty(0)
        odds = np.exp(scores - highest[self.gene])
        return np.asarray(odds / np.bincount(self.gene, odds)[self.gene])

    def letter_scores(self, table: FloatArray) -> FloatArray:
        """Sums over the letters at each start, by `_AROUND`: shape (n_groups, n_candidates)."""
        found = np.zeros((len(_AROUND), len(self)))
        for group, scores, letters in zip(_GROUP, table, self.letters, strict=True):
            found[group] += scores[letters]
        return found

    def count_letters(self, used: FloatArray) -> FloatArray:
        """How often each letter is expected at each place, shape (n_context, 5)."""
        taught = np.where(used >= _NEGLIGIBLE, used, 0.0)
        return np.array([np.bincount(letters, taught, minlength=5) for letters in self.letters])


def _before(shard: candidates.OrfShard, places: IntArray, chosen: Chosen) -> IntArray:
    """The bin of the distance of each candidate from the gene before it in its sequence."""
    # All sequences lie on one line, so far apart that no gene of another one is near. For candidates of the
    # reverse strand the line is turned round: the gene before is the one that ends last before, along the
    # strand, and a binary search over ends finds it.
    sequence = shard.by_candidate(np.arange(len(shard)))
    at = np.cumsum(shard.n_bases + _APART) - shard.n_bases
    bounds, whole = shard.bounds + at[sequence][:, None], int((shard.n_bases + _APART).sum())
    genes, out = np.flatnonzero(chosen), np.empty(places.size, np.int64)
    for reverse in (False, True):
        along = whole - bounds[:, ::-1] if reverse else bounds
        order = genes[np.argsort(along[genes, 1], kind="stable")]
        mine = np.flatnonzero(shard.reverse[places] == reverse)
        own = places[mine]
        k = np.searchsorted(along[order, 1], along[own, 1], side="left") - 1  # ends before, so not itself
        before = np.append(order, -1)[k]
        is_there = (before >= 0) & (sequence[before] == sequence[own])
        distance = np.where(is_there, along[own, 0] - along[before, 1], _APART)
        same = is_there & (shard.reverse[before] == reverse)
        out[mine] = np.searchsorted(DISTANCES, distance, side="right") + (~same) * (N_NEIGHBOURS // 2)
    return out


# --- the model --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Motif:
    """Some bases in a row, at one of several places before a start."""

    first: int  # the first base's first place, relative to the start
    bases: FloatArray  # (n_bases, 4): probabilities of A, C, G and T
    places: FloatArray  # probabilities of where it begins
    share: float  # of the starts that have it

    @classmethod
    def from_text(cls, text: str, first: int, last: int, share: float, background: FloatArray) -> Motif:
        """One of letters, N for any, that begins from `first` to `last`."""
        # the bases of the text, or any for N, mixed with bases as they are anywhere
        known = [[base == letter for base in "ACGT"] if letter != "N" else background for letter in text]
        bases = _SURE * np.array(known, float) + (1.0 - _SURE) * background
        n = last - first + 1
        return cls(first, bases, np.full(n, 1.0 / n), share)

    def scores(self, letters: Bases, background: FloatArray) -> FloatArray:
        """Log odds of the letters before starts, the rows of `letters`, having the motif."""
        # log of (1 - s) + s sum over places a of p(a) odds(a): a start may be without it
        odds = self._odds(letters, background)[1].sum(axis=0)
        return np.asarray(np.log(1.0 - self.share + self.share * odds))

    def learned(
        self, letters: Bases, background: FloatArray, used: FloatArray, before: Motif, fixed_share: bool
    ) -> Motif:
        """One step of expectation maximisation, with starts as probable as `used`; `before` is the prior."""
        # The E-step: a start that has the motif with probability s has it at a with probability
        # s p(a) odds(a) / (1 - s + s sum p odds).
        n, (words, odds) = len(self.bases), self._odds(letters, background)
        taught = np.where(used >= _NEGLIGIBLE, used, 0.0)
        shares = taught * odds / ((1.0 - self.share) / self.share + odds.sum(axis=0))
        of_words = np.bincount(words.ravel(), shares.ravel(), minlength=5**n).reshape(n * (5,))
        of_letters = [of_words.sum(axis=tuple(k for k in range(n) if k != j))[:4] for j in range(n)]
        # The M-step: expected letters and places, beside pseudocounts. The prior motif counts as a fifth of
        # the starts that were seen, so that a motif stays what it is called where a genome does not say
        # otherwise.
        places = shares.sum(axis=1)
        seen = places.sum()
        bases = np.array(of_letters) + _FEW_BASES * background + _PRIOR * seen * before.bases
        return replace(
            self,
            bases=bases / bases.sum(axis=1, keepdims=True),
            places=(places + 1.0) / (seen + places.size),
            share=self.share if fixed_share else float(np.clip((seen + 1) / (used.sum() + 2), 0.02, 0.98)),
        )

    def _odds(self, letters: Bases, background: FloatArray) -> tuple[NDArray[np.int16], FloatArray]:
        """Words as long as the motif, by number in base 5, and how probable each place is, times the odds of
        its word being the motif: shape (n_places, n_starts)."""
        n, first = self.places.size, self.first + len(letters)  # the last row is the letter before the start
        words = np.zeros((n, letters.shape[1]), np.int16)
        for j in range(first, first + len(self.bases)):
            words = 5 * words + letters[j : j + n]
        # a table of all words, so that odds are looked up, and not multiplied, at every place of every start;
        # those of a letter that is not known are 1
        odds = np.column_stack([self.bases / background, np.ones(len(self.bases))])
        return words, np.asarray(self.places[:, None] * reduce(np.multiply.outer, odds).ravel()[words])


@dataclass(frozen=True)
class StartModel:
    """Model of gene starts: log odds of signals at starts, against other candidates with the same stop codon.

    A start belongs to one of three classes: with a ribosome-binding site; leaderless, with a -10 box right
    before the start; or without either signal. Their probabilities depend on the gene before. Further
    evidence is a promoter upstream, hexamers (two neighboring codons), the start codon, the bases around it,
    the distance to the gene before, and the distance to the first start codon of the frame.

    Attributes
    ----------
    words : ndarray, shape (4097,)
        Log odds of hexamers in genes. The last entry, 0, is for hexamers with an unknown base.
    codons, sites, context : ndarray, shapes (3,), (n_sites,) and (n_context, 5)
        Log odds of start codons, of ribosome-binding sites, and of the bases around the start.
    neighbours, behind : ndarray, shapes (n_neighbours,) and (7,)
        Log odds of the distances to the gene before, and to the first start codon of the frame.
    classes : ndarray, shape (3, 3)
        Probabilities of the classes: shortly after a gene on the same strand, farther after one, or after a
        gene on the other strand.
    background : ndarray, shape (4,)
        Probabilities of bases before candidates.
    site, box, promoter : Motif
        Motifs of the ribosome-binding site, the -10 box and the promoter.
    """

    words: FloatArray
    codons: FloatArray
    sites: FloatArray
    context: FloatArray
    neighbours: FloatArray
    behind: FloatArray
    classes: FloatArray
    background: FloatArray
    site: Motif
    box: Motif
    promoter: Motif

    def parts(self, of: Choices, class_odds: FloatArray) -> dict[str, FloatArray]:
        """Return the log odds of each signal for all candidates; scores sum them, weighted by `WEIGHTS`."""
        # Signals are not independent, as words and bases around a start overlap: sums of their log odds are
        # weighed, by weights that verified starts of six genomes taught (training/prokaryotic_starts.py).
        near = self.words[of.words_near]
        to_stop = np.zeros(len(of))
        kernels.score_words(of.words, self.words, to_stop)
        around = of.letter_scores(self.context)
        return {
            "words behind": near[-_FIRST_WORD:].sum(axis=0),
            "words before": near[: -_FIRST_WORD - 1].sum(axis=0),  # without that of the start codon's second
            "words": to_stop,
            "codon": self.codons[of.kinds],
            "codon of any genome": np.log(_CODONS)[of.kinds],
            "class": np.log(class_odds.sum(axis=1)),
            "promoter": self.promoter.scores(of.upstream, self.background),
            **{f"bases {name}": scores for name, scores in zip(_AROUND, around, strict=True)},
            "neighbour": self.neighbours[of.before],
            "behind the first": self.behind[of.behind],
            "match with 16S RNA": self.sites[of.sites],
        }

    def class_odds(self, of: Choices) -> FloatArray:
        """Return the probability of each class times the odds of its motif, shape (n_candidates, 3)."""
        motifs = [motif.scores(of.upstream, self.background) for motif in (self.site, self.box)]
        odds = np.exp(np.column_stack([*motifs, np.zeros(len(of))]))
        return np.asarray(self.classes[of.situation] * odds)

    def found(
        self,
        graph: OrfGraph,
        shard: candidates.OrfShard,
        chosen: Chosen,
        scores: FloatArray | None,
        is_open: bool,
        beside: FloatArray | None = None,
    ) -> tuple[Chosen, FloatArray | None]:
        """Return the `chosen` genes with the starts that the model prefers, and their probabilities.

        With `is_open`, genes that may begin before their sequence keep their starts. `scores` are the
        earlier probabilities of the candidates, or None; `beside` are log odds that are added to the model's.
        """
        # All genes are kept: a candidate of another stop scores -inf, and one of a gene 1000 more than
        # anything that is said of starts. So the best set under the rules of overlap has all genes, if it
        # can, with the most probable starts.
        at_end = shard.begin_before if is_open else np.zeros(chosen.size, bool)
        fixed, free = chosen.astype(bool) & at_end, (chosen.astype(bool) & ~at_end).astype(np.int8)
        odds, found = np.where(fixed, _FRAME, -np.inf), np.zeros(chosen.size, np.int8)
        shares = fixed.astype(float)
        if free.any():
            of = Choices.of(shard, free, chosen)
            known = weighed(self.parts(of, self.class_odds(of)))
            known += 0.0 if beside is None else beside[of.places]
            is_fixed = at_end[of.places]
            own = of.shares(np.where(is_fixed, -np.inf, known))
            shares[of.places] = own
            odds[of.places] = np.where(is_fixed, -np.inf, _FRAME + np.log(np.maximum(own, 1e-300)))
        kernels.best(*shard.ends, graph.gaps(), odds, found, np.empty(len(shard)))
        return found, None if scores is None else (shard.frame_sums(scores) * shares).clip(0.0, 1.0)


def weighed(parts: dict[str, FloatArray]) -> FloatArray:
    return np.asarray(sum(WEIGHTS[name] * part for name, part in parts.items()))


# --- learning ---------------------------------------------------------------------------------------------


def learn_starts(
    shard: candidates.OrfShard, chosen: Chosen, letters: Sequence[Letters], trust: float = 0.0
) -> StartModel | None:
    """Learn from the stops of the genes that are chosen; None of fewer than 200. `letters` are the sequences,
    and `trust` are log odds of the genes' own starts, beside what is seen there."""
    if np.count_nonzero(chosen) < _FEWEST:
        return None
    of = Choices.of(shard, chosen)
    # words at any place of both strands: what genes differ from
    everywhere = sum(map(candidates.count_words, letters), np.full(_N_WORDS - 1, _FEW_WORDS))
    everywhere /= everywhere.sum()
    upstream = of.upstream
    background = np.bincount(upstream[upstream < 4], minlength=4) / np.count_nonzero(upstream < 4)
    all_letters = of.count_letters(np.ones(len(of)))
    all_codons = np.bincount(of.kinds, minlength=len(candidates.STARTS)) + 1.0

    def model_of(used: FloatArray, classes: FloatArray, motifs: Mapping[str, Motif]) -> StartModel:
        words = np.zeros(_N_WORDS)
        kernels.count_words(of.words, used, words)
        words = words[:-1] + len(everywhere) / 2 * everywhere
        codons = _FEW_STARTS * _CODONS + np.bincount(of.kinds, used, minlength=len(candidates.STARTS))
        context = _odds(of.count_letters(used), all_letters)
        context[:, 4] = 0.0
        return StartModel(
            words=np.append(np.log(words / words.sum() / everywhere), 0.0),
            codons=np.log(codons / codons.sum() / (all_codons / all_codons.sum())),
            sites=_log_odds(of.sites, used, RUNS * SPACINGS + 1),
            context=context,
            neighbours=_log_odds(of.before, used, N_NEIGHBOURS),
            behind=_log_odds(of.behind, used, _BEHIND.size + 1),
            classes=classes,
            background=background,
            **motifs,
        )

    priors = {name: Motif.from_text(*given, background=background) for name, given in _MOTIFS.items()}
    known = trust * of.chosen
    used = of.shares(np.where(of.kinds == 0, 0.0, _OTHERS) + known)
    model = model_of(used, np.tile(_CLASSES, (_SITUATIONS, 1)), priors)
    odds = model.class_odds(of)
    # Expectation maximisation. Hidden are the start of each gene, and the class of each start: `used` are
    # probabilities of starts, `classes` those of classes of each candidate if it were a start.
    for _ in range(_STEPS):
        classes = odds / odds.sum(axis=1, keepdims=True)
        counts = [np.bincount(of.situation, used * share, minlength=_SITUATIONS) + 2.0 for share in classes.T]
        table = np.column_stack(counts)
        shares = {"site": used * classes[:, 0], "box": used * classes[:, 1], "promoter": used}
        motifs = {
            name: getattr(model, name).learned(upstream, background, share, priors[name], name != "promoter")
            for name, share in shares.items()
        }
        model = model_of(used, table / table.sum(axis=1, keepdims=True), motifs)
        odds = model.class_odds(of)
        used = of.shares(weighed(model.parts(of, odds)) + known)
    return model


def _log_odds(kind: Any, used: FloatArray, n: int) -> FloatArray:
    return _odds(np.bincount(kind, used, minlength=n), np.bincount(kind, minlength=n))


def _odds(counts: Any, every: Any) -> FloatArray:
    """The same by counts among starts, and among all candidates."""
    # pseudocounts: one of each kind among all candidates, and as many starts as there are kinds, dealt out as
    # candidates are
    shares = (every + 1.0) / (every + 1.0).sum(axis=-1, keepdims=True)
    counts = counts + counts.shape[-1] * shares
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True) / shares))


def pack(model: StartModel | None, prefix: str) -> Arrays:
    """A model as arrays with names of that prefix; no arrays of none."""
    found = {} if model is None else dict(vars(model))
    for name in _MOTIFS if found else ():
        motif: Motif = found.pop(name)
        found |= {f"{name}_bases": motif.bases, f"{name}_places": motif.places}
        found[f"{name}_share"] = np.array([motif.share])
    return {f"{prefix}{name}": array for name, array in found.items()}


def unpack(every: Arrays, prefix: str) -> StartModel | None:
    """The model that `pack` made arrays of, which are among others; refuses wrong ones."""
    arrays = {name.removeprefix(prefix): array for name, array in every.items() if name.startswith(prefix)}
    if not arrays:
        return None
    if arrays.keys() != _SHAPES.keys():
        raise ModelFileError(f"the model of starts has arrays {sorted(arrays)}, but needs {sorted(_SHAPES)}")
    for name, shape in _SHAPES.items():
        check_array(arrays, name, np.float64, shape)
        if name not in _LOG_ODDS and (np.any(arrays[name] <= 0.0) or np.any(arrays[name] >= 1.0)):
            raise ModelFileError(f"the model of starts has {name!r} that are not probabilities")
    known: dict[str, Any] = arrays
    for name, (_, first, *_) in _MOTIFS.items():
        bases, places, (share,) = (known.pop(f"{name}_{part}") for part in ("bases", "places", "share"))
        known[name] = Motif(first, bases, places, float(share))
    return StartModel(**known)
