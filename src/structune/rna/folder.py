"""The RNA folder: secondary structures by CONTRAfold's model, with scikit-learn's face."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np

from structune.errors import DataError
from structune.files.inputs import as_list, checked_length
from structune.files.models import Arrays, entries, load_shipped, pack_names, unpack_names
from structune.learning.estimator import BlockEstimator, Blocks, Encoded, in_block
from structune.learning.parameters import Range, parameters
from structune.rna.consensus import consensus
from structune.rna.defaults import CONSENSUS_THRESHOLD, INITIATION
from structune.rna.formats.contrafold import read_contrafold, write_contrafold
from structune.rna.inputs import (
    Draws,
    LeftOut,
    Structures,
    checked_decoding,
    checked_gamma,
    checked_gammas,
    checked_number,
    checked_outputs,
    checked_strings,
    checked_threshold,
    checked_within,
    fit_into_space,
)
from structune.rna.metrics import Judgement, base_pair_scores, expected_accuracy
from structune.rna.structure.decoding import knotted
from structune.rna.structure.rna import OF_KNOTS, OF_SUMS, RNA
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import dot_brackets
from structune.running.executors import make_executor
from structune.running.memory import require_memory
from structune.structure import FloatArray, IntArray, check_weights


@parameters
class RNAFolder(BlockEstimator):
    """RNA secondary structures by a conditional log-linear model, with regularisation that it can learn.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss that training minimizes. "log": the negative log-probability of the training structures.
        "margin": the margin loss with 1 - recall of base pairs as cost. "ramp": the ramp loss, which gives up
        on sequences that are far off (Chapelle et al. 2008).
    groups : "kind", "single", "separate", or callable
        Which weights share a regularization strength. "kind": those of one kind of feature, the 15 groups of
        Do, Foo & Ng 2007 (helix stacking, hairpin lengths, dangles, ...). "single": all. "separate": none. Or
        those that a function of a weight's name gives the same group name; names look like
        ``helix_stacking_ACGU``.
    penalty : float or dict, optional
        Regularization strength: the precision of the Gaussian prior of the weights. One number, or one per
        group name (1 for others). By default tuned, or else 1. It may be 0 beside `l1`.
    l1 : float, dict, or "auto"
        Weight of an l1 penalty, which makes weights exactly zero: ``l1 |w|`` beside half the penalty times
        w^2. One number, or one per group name (0 for others), beside no tuner but "grid"; or "auto": one
        number is learned together with the precisions, by tuning="implicit". Needs a smooth loss.
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        How the regularization strength of each group of weights is chosen. "auto" is "implicit", or None with
        `penalty`, `l1` and the like (see `StructuredEstimator`). "implicit" and "direct" need the log loss.
    gamma : float
        How much a right pair counts in predictions, beside two right unpaired bases ("mea") or beside a wrong
        pair ("centroid"). More predicts more pairs.
    decoding : {"mea", "centroid"}
        Which structure is predicted. "mea": the one of maximum expected accuracy, in which right unpaired
        bases count (Do, Woods & Batzoglou 2006). "centroid": the gamma-centroid, in which pairs alone count
        (Hamada et al. 2009).
    min_hairpin : int
        Fewest unpaired bases in a hairpin.
    noncanonical : bool
        Whether all bases may pair, and not only AU, CG and GU.
    max_span : int, optional
        Largest distance between the bases of a pair. Time and memory then grow with the length of a sequence,
        not with its cube and square: for genomes. Predictions of a fitted model keep to it, too.
    circular : bool
        Whether sequences are circles, the last base followed by the first.
    initiation : float
        Score of two strands, "A&B", being together, before any pair, at concentrations of 1 M. At other
        concentrations add 0.6 times the log of theirs (-8 at 1 uM), for scores of the pretrained model are
        about that part of energies in units of kT.
    features : {"contrafold", "extended"}
        Set of features: CONTRAfold's 708, or these and more (see `RNA`), each kind one more group.
    outside : {"skip", "trim", "error"}
        What to do with training structures that the model cannot produce, which would have an infinite loss.
        These have pairs of bases that cannot pair, hairpins shorter than `min_hairpin`, or loops of more than
        30 unpaired bases. "skip" leaves them out and "trim" their offending pairs alone, with a warning;
        "error" refuses them. Pairs of pseudoknots, all but those in round brackets, are dropped, or an error.
    center : "pretrained" or RNAFolder, optional
        Model whose weights are the mean of the prior, in place of zero. What few structures of your own do
        not tell stays. Needs ``loss="log"``, and the model's features or more ("extended" if pretrained).
    cv : float, int, or splitter, optional
        Share of the examples that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2. Or a splitter of scikit-learn, or a list of its splits.
    warm_start : bool
        Start at the weights of the previous fit; "auto" keeps its precisions, and other tuners start anew.
    random_state : int
        Random seed of held-out splits.
    verbose : int
        Amount of progress output. 1 shows progress bars on a terminal, 2 keeps a line per iteration.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.
    run : Run, optional
        Where `fit` computes, for how long, and in which file it keeps its state: see `structune.running.Run`.

    Attributes
    ----------
    coef_ : ndarray, shape (n_weights,)
        Named by ``rna_.weight_names()``.
    skipped_ : list of (int, str)
        Training examples that were left out, and why; of a folder of shards at most a thousand.
    rna_ : RNA
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        What every fit keeps: see `structune.learning.StructuredEstimator`.

    Raises
    ------
    CapabilityError
        Of methods that need probabilities (all predictions but the most probable structure and scores): the
        model was not fitted by log loss.

    Examples
    --------
    >>> from structune import RNAFolder
    >>> X = ["GGGAAAACCC", "GGCGAAAGCC", "AAAAAAAA"]
    >>> y = ["(((....)))", "(((....)))", "........"]
    >>> RNAFolder(penalty=0.1).fit(X, y).predict(["GGGAAAACCC"])
    ['(((....)))']
    """

    _learns_tasks = True
    _natural_groups = "kind"
    _ranges: ClassVar = {"gamma": Range(0)}

    gamma: float = 4.0
    decoding: str = "mea"
    min_hairpin: int = 3
    noncanonical: bool = False
    max_span: int | None = None
    circular: bool = False
    initiation: float = INITIATION
    features: str = "contrafold"
    outside: str = "skip"
    center: Any = None
    rna_: RNA = field(init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from sequences with known structures.

        Parameters
        ----------
        X : list of str
            Sequences over ACGU; T is U, and other letters of the IUPAC code are bases that do not pair. Two
            strands have ``&`` between them, in sequence and structure.
        y : list of str or Constraints
            Their structures in dot-bracket notation or, where they are only partly known, `Constraints`: what
            must be, and log odds of bases to be paired, as probing gives them. Needs loss="log", which is
            then -log of the probability of the evidence, summed over structures.
        sample_weight : array-like, shape (n_sequences,), optional
        groups : array-like, shape (n_sequences,), optional
            Sequences of one group (a family, say) stay on one side of every held-out split.

        Raises
        ------
        DataError
            Names the sequence that cannot be used.

        Warns
        -----
        OutsideSpaceWarning
            Some structures were left out or lost pairs, see `outside`.
        """
        return self._fit(self._encode_training(X, y, sample_weight, groups))

    def _encode_training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Encoded:
        rna, left_out, _ = self._rna(), LeftOut(), checked_decoding(self.decoding)
        skipped, shard, groups = self._training(rna, left_out, X, y, sample_weight, groups)
        left_out.report()
        return Encoded(rna, shard, groups, {"rna_": rna, "skipped_": skipped})

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[RNAShard, Any]]:
        rna, left_out, _ = self._rna(), LeftOut(), checked_decoding(self.decoding)
        for number, (X, y, *more) in enumerate(blocks()):
            weights, groups, names = [*more, None, None, None][:3]  # files have names of their sequences
            with in_block(number) if names is None else nullcontext():
                _, shard, groups = self._training(rna, left_out, X, y, weights, groups, names)
            yield shard, groups
        if left_out.n_examples:
            left_out.report()
        self.rna_, self.skipped_ = rna, left_out.first

    def _training(
        self,
        rna: RNA,
        left_out: LeftOut,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        names: Sequence[str] | None = None,
    ) -> tuple[list[tuple[int, str]], RNAShard, Any]:
        """What is skipped, and examples in the space of the model, encoded, with their groups."""
        sequences, structures = checked_strings(X, "sequence"), checked_outputs(y)
        if not sequences:
            raise DataError("the training set is empty: expected at least one sequence")
        rna.encode(sequences)  # refuses what is no sequence
        weights = check_weights(sample_weight, len(sequences))
        examples = fit_into_space(rna, sequences, structures, self.outside, names)
        shard, start = examples.shard(rna, sequences, weights), left_out.n_examples
        left_out.add(examples, names)
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (len(sequences),):
                raise DataError(f"found groups of shape {groups.shape}, expected ({len(sequences)},)")
            groups = groups[examples.kept]
        return examples.skipped, replace(shard, numbers=shard.numbers + start), groups

    def _origin(self, structure: Any) -> FloatArray | None:
        """The weights of the center for another structure; 0 where it has none."""
        center, loss = self.center, self._make_loss()
        if center is None:
            return None
        if isinstance(center, str) and center == "pretrained":
            center = load_shipped("structune.rna")
        if not (hasattr(center, "rna_") and hasattr(center, "coef_")):
            raise DataError(f"center={center!r}: expected 'pretrained', a fitted RNAFolder, or None")
        if not loss.smooth:
            raise DataError(f"found a center and loss={loss.name!r}, expected loss='log'")
        known = dict(zip(center.rna_.weight_names(), center.coef_.tolist(), strict=True))
        if more := sorted(set(known) - set(structure.weight_names())):
            raise DataError(
                f"found features={structure.feature_set!r}, expected {center.rna_.feature_set!r}, those of "
                f"the center (it has weights such as {more[0]})"
            )
        return np.array([known.get(name, 0.0) for name in structure.weight_names()])

    def __sklearn_clone__(self) -> Self:
        """With the same center: it is fitted, and is not to be emptied."""
        # scikit-learn clones every parameter that is an estimator, and a clone has no weights.
        center, self.center = self.center, None
        try:
            return super().__sklearn_clone__().set_params(center=center)
        finally:
            self.center = center

    def _rna(self) -> RNA:
        space = self.min_hairpin, self.noncanonical, self.features
        return RNA(*space, self.max_span, self.circular, self.initiation)

    # --- predictions --------------------------------------------------------------------------------------

    @property
    def _structure(self) -> RNA:
        return self.rna_.like(self.max_span, self.circular, self.initiation)

    def memory_of(self, n: int, n_tables: float = OF_SUMS, weighted: bool = False) -> float:
        """Bytes that predictions for a sequence of n bases take, about.

        Parameters
        ----------
        n_tables : float
            Of pairs, at once: 3 for `predict_viterbi`, 5 for `predict_nbest` and `predict_knotted`, 6 for
            `sample` and `unpaired_windows`, and 4 for all else.
        weighted : bool
            Whether there are constraints or evidence.
        """
        return self._structure.memory_of(checked_length(n), n_tables, weighted)

    def predict(
        self, X: Any, gamma: float | None = None, constraints: Any = None, lonely_pairs: bool = True
    ) -> list[str]:
        """The structure of each sequence that is expected to be most right, in dot-bracket notation.

        Of maximum expected accuracy or a gamma-centroid, as `decoding` says. A model that was not fitted by
        log loss has no probabilities: it gives the structure of the highest score, whatever `gamma` is.

        Parameters
        ----------
        X : list of str
        gamma : float, optional
            Instead of that of the constructor.
        constraints : list, optional
            For each sequence what is known of its structure: `Constraints`, their notation, or None. All
            structures satisfy them: among those the prediction is the best.
        lonely_pairs : bool
            Whether there may be pairs that are stacked on no other.
        """
        if not self.has_probabilities:
            return self.predict_viterbi(X, constraints)
        return self.predict_gammas(X, [self.gamma if gamma is None else gamma], constraints, lonely_pairs)[0]

    def predict_gammas(
        self, X: Any, gammas: Iterable[float], constraints: Any = None, lonely_pairs: bool = True
    ) -> list[list[str]]:
        """What `predict` gives for each of `gammas`, at the cost of little more than one."""
        return self._accurate(X, gammas, constraints, lonely_pairs, checked_decoding(self.decoding))

    def predict_mea(
        self, X: Any, gammas: Iterable[float], constraints: Any = None, lonely_pairs: bool = True
    ) -> list[list[str]]:
        """Structures of maximum expected accuracy for each of `gammas`, whatever `decoding` is."""
        return self._accurate(X, gammas, constraints, lonely_pairs, "mea")

    def _accurate(
        self, X: Any, gammas: Iterable[float], constraints: Any, lonely_pairs: bool, decoding: str
    ) -> list[list[str]]:
        self._require_probabilities()
        if not lonely_pairs:
            self._refuse_circles("structures without lonely pairs")
        given = checked_gammas(gammas)

        def best(rna: RNA, part: RNAShard) -> list[IntArray]:
            return rna.best_mea(self.coef_, part, given, lonely_pairs, decoding)

        return self._folded(X, constraints, len(given), best)

    def _folded(
        self, X: Any, constraints: Any, n_ways: int, best: Callable[[RNA, RNAShard], Sequence[IntArray]]
    ) -> list[list[str]]:
        """For each way to fold the structures of all sequences, of which a function gives the partners."""
        shard, rna = self._encode(X, constraints), self._structure

        def fold(part: RNAShard) -> list[tuple[str, ...]]:
            found = (dot_brackets(partners, part.letters, part.offsets) for partners in best(rna, part))
            return list(zip(*found, strict=True))

        rows = self._each(shard, fold)
        return [[row[k] for row in rows] for k in range(n_ways)]

    def predict_knotted(
        self, X: Any, gamma: float | None = None, gamma_knots: float = 3.0, constraints: Any = None
    ) -> list[str]:
        """What `predict` gives, and helices that cross it: pseudoknots, in square brackets.

        Parameters
        ----------
        gamma_knots : float
            How much a right pair of the second layer counts beside two right unpaired bases.

        Notes
        -----
        As IPknot (Sato et al. 2011) has it, but that layers are found one after the other. The model's
        probabilities are those of nested pairs, so that those of a second layer are low: with more pairs
        found, about as many of all found are right.
        """
        checked_gamma(gamma_knots, "gamma_knots")
        self._require_probabilities()
        self._refuse_circles("pseudoknots")
        sequences = checked_strings(X, "sequence")
        given = [None] * len(sequences) if constraints is None else as_list(constraints, "constraints")
        structures = self.predict(sequences, gamma, given)

        def knot(s: int) -> str:
            needed, n = self.memory_of(len(sequences[s]), OF_KNOTS), len(sequences[s])
            require_memory(needed, f"sequence {s}: {n:,} bases with pseudoknots", "a shorter one")
            return knotted(structures[s], self.pair_probabilities(sequences[s], given[s]), gamma_knots)

        return list(make_executor(self.n_jobs).map(knot, range(len(sequences))))

    def predict_alignment(self, rows: Sequence[str], threshold: float = CONSENSUS_THRESHOLD) -> str:
        """One structure of aligned sequences, a character a column, by `structune.rna.consensus`.

        Parameters
        ----------
        rows : list of str
            Sequences of one family with ``-`` for gaps, all of one length.
        threshold : float
            A pair of columns gains its probability less this.
        """
        self._require_probabilities()
        given = checked_strings(rows, "row")
        return consensus(self.pair_probabilities, given, threshold, self.n_jobs).structure

    def predict_viterbi(self, X: Any, constraints: Any = None) -> list[str]:
        """The most probable structure of each sequence."""
        return self._folded(X, constraints, 1, lambda rna, part: [rna.best(self.coef_, part)[0]])[0]

    def predict_centroid(self, X: Any, threshold: float = 0.5, constraints: Any = None) -> list[str]:
        """For each sequence the nested pairs of the greatest sum of probability - `threshold`.

        At 0.5 these are all pairs of a probability above it: the centroid of all structures.
        """
        self._require_probabilities()
        checked_threshold(threshold)
        return self._folded(
            X, constraints, 1, lambda rna, part: [rna.best_centroid(self.coef_, part, threshold)]
        )[0]

    def predict_nbest(
        self, X: Any, n: int = 5, constraints: Any = None, within: float = math.inf
    ) -> list[list[tuple[str, float]]]:
        """For each sequence its `n` most probable structures with their probabilities, falling.

        Parameters
        ----------
        within : float
            How far the log probability may be below that of the most probable one. A sequence of 76 bases
            has some 100,000 within 12.
        """
        found = self._ranked(X, n, constraints, within)
        return [list(zip(structures, p.tolist(), strict=True)) for structures, p in found]

    def _ranked(self, X: Any, n: int, constraints: Any, within: float) -> list[tuple[Structures, FloatArray]]:
        """The most probable structures of each sequence, and their probabilities."""
        self._require_probabilities()
        n, within = checked_number(n), checked_within(within, "within", np.inf, "a number >= 0")
        shard, rna, w = self._encode(X, constraints), self._structure, self.coef_

        def fold(part: RNAShard) -> list[tuple[Structures, FloatArray]]:
            log_z, letters = rna.log_partition(w, part), np.split(part.letters, part.offsets[1:-1])
            best = rna.n_best(w, part, n, within)
            return [
                (Structures(partners, own), np.exp(scores - z))
                for (partners, scores), z, own in zip(best, log_z, letters, strict=True)
            ]

        return self._each(shard, fold)

    def sample(
        self, X: Any, n: int = 1, random_state: Any = None, constraints: Any = None
    ) -> list[list[str]]:
        """For each sequence `n` structures, drawn with their probabilities.

        Parameters
        ----------
        random_state : int or numpy.random.Generator, optional
            Not that of the constructor. With one seed a sequence has the same samples whatever others are
            beside it, also in ``structune fold --samples --seed``; a copy of it in `X` has others.
        """
        draws = Draws(random_state)
        generators = [draws.of(sequence) for sequence in checked_strings(X, "sequence")]
        return [list(structures) for structures in self._drawn(X, n, generators, constraints)]

    def _drawn(
        self, X: Any, n: int, generators: Sequence[np.random.Generator], constraints: Any
    ) -> list[Structures]:
        """Structures of each sequence, drawn with their probabilities."""
        self._require_probabilities()
        n = checked_number(n)
        shard = self._encode(X, constraints)

        def draw(s: int) -> Structures:
            part = shard.take([s])
            return Structures(self._structure.sample(self.coef_, part, n, generators[s]), part.letters)

        return list(make_executor(self.n_jobs).map(draw, range(len(shard))))

    def pair_probabilities(self, sequence: str, constraints: Any = None) -> Any:
        """Probability of each pair of bases of one sequence, shape (n, n), symmetric.

        With `max_span` it is a sparse array (`scipy.sparse.csr_array`).

        Parameters
        ----------
        constraints : Constraints or str, optional
            What is known of the structure.
        """
        self._require_probabilities()
        shard = self._encode([sequence], None if constraints is None else [constraints])
        table = self._structure.pair_probabilities(self.coef_, shard, 0)
        if not isinstance(table, np.ndarray):
            return table + table.T
        for i in range(len(table)):  # in place: a table may be most of the memory
            table[i:, i] = table[i, i:]
        return table

    def dimer_probabilities(self, X: Any, constraints: Any = None) -> FloatArray:
        """How probably a pair joins the two strands of each sequence "A&B", shape (n_sequences,).

        At one molecule of each in the volume that `initiation` is of: by default, concentrations of 1 M.
        """
        self._require_probabilities()
        shard, rna = self._encode(X, constraints), self._structure
        return np.array(self._each(shard, lambda part: rna.dimer_probabilities(self.coef_, part)))

    def unpaired_windows(self, sequence: str, size: int, constraints: Any = None) -> FloatArray:
        """Accessibility: how probably the bases i..i + size - 1 are all unpaired, for each i.

        Parameters
        ----------
        size : int
            Bases of a window, such as those that a miRNA or a probe binds.
        constraints : Constraints or str, optional
            As of `pair_probabilities`; none that bases must pair.

        Returns
        -------
        ndarray, shape (n_bases - size + 1,), or (0,) of a shorter sequence

        Raises
        ------
        DataError
            Some bases must pair, two strands, or a circle.
        CapabilityError
            The weights are beyond what is summed without logarithms.
        """
        self._require_probabilities()
        self._refuse_circles("windows of unpaired bases")
        shard = self._encode([sequence], None if constraints is None else [constraints])
        return self._structure.unpaired_windows(self.coef_, shard, 0, checked_number(size))

    def log_partition(self, X: Any, constraints: Any = None) -> FloatArray:
        """Log of the sum of exp(score) over the structures of each sequence, shape (n_sequences,)."""
        shard = self._encode(X, constraints)
        return np.array(self._each(shard, lambda part: self._structure.log_partition(self.coef_, part)))

    def log_loss(self, X: Any, y: Any) -> FloatArray:
        """-log of the probability of each structure, shape (n_sequences,); inf outside the model's space.

        Of what is only partly known, as in `fit`, that of the evidence: the sum over structures of their
        probability times exp(score by the evidence). Evidence that no structure agrees with is an error.
        """
        self._require_probabilities()
        self._check_fitted()
        rna, w, sequences = self._structure, self.coef_, checked_strings(X, "sequence")
        rna.encode(sequences)  # refuses what is no sequence
        examples = fit_into_space(rna, sequences, checked_outputs(y), "skip")
        shard = examples.shard(rna, sequences)

        def loss(part: RNAShard) -> FloatArray:
            return np.asarray(rna.log_partition(w, part) - rna.log_partition(w, part, within=True))

        losses = np.full(len(sequences), np.inf)
        losses[examples.kept] = self._each(shard, loss)
        losses[list(examples.unknotted)] = np.inf
        return losses

    def judge(self, X: Any, y: Any) -> list[Judgement]:
        """What the model says of each structure: its probability, and what of it is expected to be right.

        Parameters
        ----------
        X, y : list of str
            Sequences and structures. Those outside the model's space have probability 0, but pairs have one.
        """
        sequences, structures = checked_strings(X, "sequence"), checked_strings(y, "structure")
        if len(sequences) != len(structures):
            raise DataError(f"found {len(structures)} structures for {len(sequences)} sequences")
        self._require_probabilities()
        self._check_fitted()
        rna, w = self._structure, self.coef_

        def judged(s: int) -> Judgement:
            given = [sequences[s]], [structures[s]]
            try:
                loss = float(self.log_loss(*given)[0])
                # A structure with pseudoknots, or outside of the space, has probability 0.
                log_odds = -np.inf
                if not np.isinf(loss):
                    shard = rna.encode(*given)
                    value, best = float(rna.score(w, shard)[0]), float(rna.best(w, shard)[1][0])
                    is_best = np.isclose(value, best, rtol=1e-12, atol=1e-9)  # but for the order of sums
                    log_odds = 0.0 if is_best else min(0.0, value - best)
                expected = expected_accuracy(structures[s], self.pair_probabilities(sequences[s]))
            except DataError as error:
                raise DataError(str(error).replace("sequence 0", f"sequence {s}", 1)) from None
            return Judgement(min(0.0, -loss), log_odds, *expected)

        return list(make_executor(self.n_jobs).map(judged, range(len(sequences))))

    def score(self, X: Any, y: Any) -> float:
        """F1 of the base pairs that `predict` finds, pooled over sequences.

        Parameters
        ----------
        y : list of str
            Structures in dot-bracket notation; pseudoknots count, though none is ever predicted.
        """
        return float(base_pair_scores(checked_strings(y, "structure"), self.predict(X)).pooled.f1)

    def _each(self, shard: Any, function: Callable[[Any], Iterable[Any]]) -> list[Any]:
        if len(shard) != 1:
            return super()._each(shard, function)
        make_executor(self.n_jobs)  # refuses what is no number of threads
        return list(function(shard))  # to prepare threads takes as long as a short sequence

    def _refuse_circles(self, what: str) -> None:
        if self.circular:
            raise DataError(f"found circular=True, expected linear sequences for {what}")

    def _encode(self, X: Any, constraints: Any) -> RNAShard:
        self._check_fitted()
        given = None if constraints is None else as_list(constraints, "constraints")
        return self._structure.encode(checked_strings(X, "sequence"), constraints=given)

    # --- files --------------------------------------------------------------------------------------------

    @classmethod
    def pretrained(cls) -> RNAFolder:
        """The model that comes with structune.

        Raises
        ------
        ModelFileError
            The installation is without it.
        """
        folder: RNAFolder = load_shipped("structune.rna")
        return folder

    @classmethod
    def from_contrafold(cls, path: str | os.PathLike[str], **parameters: Any) -> RNAFolder:
        """A folder with the weights of a parameter file of CONTRAfold or EternaFold.

        Parameters
        ----------
        path : path
        **parameters
            Of the constructor, such as `min_hairpin`; CONTRAfold has 0.

        Raises
        ------
        DataError
            A damaged file, or one of another feature set. Names it.
        """
        folder = cls(**parameters)
        folder.rna_, folder.skipped_ = folder._rna(), []
        named = read_contrafold(path)
        try:
            folder._import(folder.rna_.weights_from(named))
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        return folder

    def to_contrafold(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as a parameter file of CONTRAfold.

        Raises
        ------
        DataError
            The model has other features than CONTRAfold.
        """
        self._check_fitted()
        if self.rna_.feature_set != "contrafold":
            raise DataError(f"found a model with features={self.rna_.feature_set!r}, expected 'contrafold'")
        write_contrafold(path, dict(zip(self.rna_.weight_names(), self.coef_, strict=True)))

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        rna = self.rna_
        space = {
            "min_hairpin": rna.min_hairpin,
            "noncanonical": rna.noncanonical,
            "features": rna.feature_set,
        }
        return {"rna": space, "skipped": self.skipped_}, pack_names("weight", rna.weight_names())

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> RNAFolder:
        folder, rna = cls(), RNA(**entries(header["rna"], min_hairpin=int, noncanonical=bool, features=str))
        folder._unpack_fit(rna.n_weights, header, arrays)
        named = zip(unpack_names("weight", arrays), arrays["coef"].tolist(), strict=True)
        folder.coef_ = rna.weights_from(dict(named))
        folder.rna_ = rna.like(folder.max_span, folder.circular, folder.initiation)
        folder.skipped_ = [(int(s), str(reason)) for s, reason in header["skipped"]]
        return folder
