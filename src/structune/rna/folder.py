"""The RNA folder: secondary structures by CONTRAfold's model, as a scikit-learn estimator."""

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
from structune.rna import inputs
from structune.rna.consensus import consensus
from structune.rna.defaults import CONSENSUS_THRESHOLD, INITIATION
from structune.rna.formats.contrafold import read_contrafold, write_contrafold
from structune.rna.kernels.loops import ABSENT
from structune.rna.metrics import Judgement, base_pair_scores, expected_accuracy
from structune.rna.structure.constraints import without_pairs
from structune.rna.structure.knots import LEAST, THRESHOLD, crossable, with_knots
from structune.rna.structure.rna import OF_PAIRS, RNA
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import dot_brackets
from structune.running.cores import cores, using_cores
from structune.running.executors import count_jobs, make_executor
from structune.structure import FloatArray, IntArray, check_weights

_PROBABLE_PAIR = 0.01  # less is of no use for pseudoknots


@parameters
class RNAFolder(BlockEstimator):
    """Predict RNA secondary structures with a conditional log-linear model.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes. "log": the negative log-probability of the training structures.
        "margin": the margin loss with 1 - recall of base pairs as cost. "ramp": the ramp loss, which limits
        the influence of sequences that are predicted badly (Chapelle et al. 2008).
    groups : "kind", "single", "separate", or callable
        Groups of weights that share a regularization strength. "kind": one group per type of feature, the 15
        groups of Do, Foo & Ng 2007 (helix stacking, hairpin lengths, dangles, ...). "single": one group for
        all weights. "separate": one group per weight. A callable takes the name of a weight, such as
        ``helix_stacking_ACGU``, and returns the name of its group.
    gamma : float
        Weight of a correct pair in predictions, relative to two correct unpaired bases ("mea") or to a wrong
        pair ("centroid"). A higher value predicts more pairs.
    decoding : {"mea", "centroid"}
        Structure that is predicted. "mea": the one with maximum expected accuracy, which also counts correct
        unpaired bases (Do, Woods & Batzoglou 2006). "centroid": the gamma-centroid, which counts pairs only
        (Hamada et al. 2009).
    min_hairpin : int
        Smallest number of unpaired bases in a hairpin.
    noncanonical : bool
        Allow pairs of any two bases, not only AU, CG and GU.
    max_span : int, optional
        Largest distance between the two bases of a pair. Time and memory then grow linearly with the length
        of a sequence, instead of cubically and quadratically. A change after `fit`
        applies to predictions. Cannot be combined with `circular` or two strands.
    circular : bool
        Whether sequences are circular, with the last base followed by the first.
    initiation : float
        Score added to a structure if a pair joins its two strands, "A&B". The default is for concentrations
        of 1 M. For another concentration c in mol/l add 0.6 ln(c), which is about -8 for 1 uM: scores
        of the pretrained model are about 0.6 times energies in units of kT.
    features : {"contrafold", "extended"}
        Feature set. "contrafold": the 708 features of CONTRAfold. "extended": these and more types, such as
        the spans of pairs, each with its own group of weights.
    outside : {"skip", "trim", "error"}
        How to treat training structures that the model cannot produce: with pairs of bases that cannot pair,
        hairpins shorter than `min_hairpin`, or bulges and internal
        loops of more than 30 unpaired bases. "skip" skips the sequence, "trim" removes the offending pairs,
        both with a warning; "error" raises an error. Pairs in pseudoknots (not in round brackets) are removed
        by "skip" and "trim", and an error with "error".
    center : "pretrained" or RNAFolder, optional
        Model whose weights are the mean of the prior, instead of zero. Weights that the training structures
        do not determine then keep the values of this model. Needs ``loss="log"`` and at least the features of
        this model ("extended" for the pretrained model).

    Attributes
    ----------
    coef_ : ndarray, shape (n_weights,)
        Weights, in the order of ``rna_.weight_names()``.
    skipped_ : list of (int, str)
        Index and reason of each skipped training example; at most 1000 for a folder of shards.
    rna_ : RNA
        Structure of the model: its features, and which pairs it allows.
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results of every fit: see `structune.learning.StructuredEstimator`.

    Raises
    ------
    CapabilityError
        A method needs probabilities, but the model was not fitted with the log loss. Only `predict`,
        `predict_viterbi`, `score` and `log_partition` work without probabilities.

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
        """Fit the model to sequences with known structures.

        Parameters
        ----------
        X : list of str
            Sequences over ACGU. T counts as U; other IUPAC letters are bases that do not pair. Two strands
            are separated by ``&``, in sequence and structure.
        y : list of str or Constraints
            Structures in dot-bracket notation. A structure that is only partly known is given as
            `Constraints`: required pairs and unpaired bases, and log odds of bases to be paired, such as from
            probing. This needs loss="log"; the loss is minus the log of the total probability of all
            structures that satisfy the constraints, each weighted by exp(sum of the log odds of its paired
            bases).
        sample_weight : array-like, shape (n_sequences,), optional
            Weight of each sequence in the loss; by default 1.
        groups : array-like, shape (n_sequences,), optional
            Group, such as the family, of each sequence. Sequences of one group are never split between
            training and held-out data.

        Raises
        ------
        DataError
            A sequence or structure is invalid; the message names it.

        Warns
        -----
        OutsideSpaceWarning
            Some structures were skipped or lost pairs: see the parameter `outside` of `RNAFolder`.
        """
        return self._fit(self._encode_training(X, y, sample_weight, groups))

    def _encode_training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Encoded:
        rna, left_out, _ = self._rna(), inputs.LeftOut(), inputs.checked_decoding(self.decoding)
        skipped, shard, groups = self._training(rna, left_out, X, y, sample_weight, groups)
        left_out.report()
        return Encoded(rna, shard, groups, {"rna_": rna, "skipped_": skipped})

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[RNAShard, Any]]:
        rna, left_out, _ = self._rna(), inputs.LeftOut(), inputs.checked_decoding(self.decoding)
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
        left_out: inputs.LeftOut,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        names: Sequence[str] | None = None,
    ) -> tuple[list[tuple[int, str]], RNAShard, Any]:
        """What is skipped, and examples in the space of the model, encoded, with their groups."""
        sequences, structures = inputs.checked_strings(X, "sequence"), inputs.checked_outputs(y)
        if not sequences:
            raise DataError("the training set is empty; it needs at least one sequence")
        rna.encode(sequences)  # refuses what is no sequence
        weights = check_weights(sample_weight, len(sequences))
        examples = inputs.fit_into_space(rna, sequences, structures, self.outside, names)
        shard, start = examples.shard(rna, sequences, weights), left_out.n_examples
        left_out.add(examples, names)
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (len(sequences),):
                raise DataError(f"groups has shape {groups.shape}, but must have ({len(sequences)},)")
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
            raise DataError(f"center cannot be combined with loss={loss.name!r}; use loss='log'")
        known = dict(zip(center.rna_.weight_names(), center.coef_.tolist(), strict=True))
        if more := sorted(set(known) - set(structure.weight_names())):
            raise DataError(
                f"features={structure.feature_set!r} lacks weights of the center, such as {more[0]}; use "
                f"features={center.rna_.feature_set!r}"
            )
        return np.array([known.get(name, 0.0) for name in structure.weight_names()])

    def __sklearn_clone__(self) -> Self:
        """Clone, but keep the same fitted center."""
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

    def memory_of(self, n: int, n_tables: float = OF_PAIRS, weighted: bool = False) -> float:
        """Estimate the memory, in bytes, of predictions for a sequence of n bases.

        Parameters
        ----------
        n_tables : float
            Number of tables of pairs in memory at once: 3 for `predict_viterbi`, 5 for `predict_nbest`, 6
            for `sample` and `unpaired_windows`, 4 for `fit`, and 3.5 for all others.
        weighted : bool
            Whether constraints or log odds of bases are given, or pseudoknots are predicted.
        """
        return self._structure.memory_of(checked_length(n), n_tables, weighted)

    def predict(
        self, X: Any, gamma: float | None = None, constraints: Any = None, lonely_pairs: bool = True
    ) -> list[str]:
        """Predict the structure of each sequence, in dot-bracket notation.

        The prediction is the structure with maximum expected accuracy or the gamma-centroid, as set by
        `decoding`. A model that was not fitted with the log loss has no probabilities; it predicts the
        structure with the highest score and ignores `gamma`.

        Parameters
        ----------
        X : list of str
            Sequences, as in `fit`.
        gamma : float, optional
            Weight of a correct pair; by default the value given to the constructor.
        constraints : list, optional
            For each sequence `Constraints`, their notation as str, or None. The prediction is the best
            structure among those that satisfy them.
        lonely_pairs : bool
            Whether to allow pairs that do not stack on another pair.
        """
        if not self.has_probabilities:
            return self.predict_viterbi(X, constraints)
        return self.predict_gammas(X, [self.gamma if gamma is None else gamma], constraints, lonely_pairs)[0]

    def predict_gammas(
        self, X: Any, gammas: Iterable[float], constraints: Any = None, lonely_pairs: bool = True
    ) -> list[list[str]]:
        """Return the predictions of `predict` for each of `gammas`, in little more time than for one."""
        return self._accurate(X, gammas, constraints, lonely_pairs, inputs.checked_decoding(self.decoding))

    def predict_mea(
        self, X: Any, gammas: Iterable[float], constraints: Any = None, lonely_pairs: bool = True
    ) -> list[list[str]]:
        """Predict as `predict_gammas`, but always with ``decoding="mea"``."""
        return self._accurate(X, gammas, constraints, lonely_pairs, "mea")

    def _accurate(
        self, X: Any, gammas: Iterable[float], constraints: Any, lonely_pairs: bool, decoding: str
    ) -> list[list[str]]:
        self._require_probabilities()
        if not lonely_pairs:
            self._refuse_circles("structures without lonely pairs")
        given = inputs.checked_gammas(gammas)

        def best(rna: RNA, part: RNAShard) -> list[IntArray]:
            return rna.best_mea(self.coef_, part, given, lonely_pairs, decoding)

        return self._folded(X, constraints, len(given), best)

    def _folded(
        self, X: Any, constraints: Any, n_ways: int, best: Callable[[RNA, RNAShard], Sequence[IntArray]]
    ) -> list[list[str]]:
        """For each of `n_ways` to fold, the structures of all sequences; `best` returns the partners."""
        shard, rna = self._encode(X, constraints), self._structure

        def fold(part: RNAShard) -> list[tuple[str, ...]]:
            found = (dot_brackets(partners, part.letters, part.offsets) for partners in best(rna, part))
            return list(zip(*found, strict=True))

        rows = self._each(shard, fold)
        return [[row[k] for row in rows] for k in range(n_ways)]

    def predict_knotted(
        self, X: Any, gamma: float | None = None, threshold: float = THRESHOLD, constraints: Any = None
    ) -> list[str]:
        """Predict as `predict`, and add pseudoknots: helices, in ``[]``, that cross the predicted pairs.

        Predicted pairs that conflict with a more probable crossing helix are removed, unless constraints
        require them. Parameters other than `threshold` are those of `predict`.

        Parameters
        ----------
        threshold : float
            Smallest probability of a pair in ``[]``, at least 0.05: a weighted mean of its probability in all
            nested structures and in those without the helices that it may cross. A lower value finds more
            pseudoknots, and more of them are wrong.

        Notes
        -----
        An integer program decides which crossing pairs to add and which predicted pairs to drop for them, in
        the manner of IPknot (Sato et al. 2011). In long RNAs, few crossing helices can be told from wrong
        ones: see the page on RNA.
        """
        if inputs.checked_threshold(threshold) < LEAST:
            raise DataError(f"threshold={threshold}: expected at least {LEAST}")
        self._require_probabilities()
        self._refuse_circles("pseudoknots")
        sequences = inputs.checked_strings(X, "sequence")
        given = [None] * len(sequences) if constraints is None else as_list(constraints, "constraints")
        structures = self.predict(sequences, gamma, given)
        # A pair with a probability above 1 / (1 + gamma) gains in a centroid, and alone also in accuracy.
        nested = 1.0 / (1.0 + (self.gamma if gamma is None else gamma))

        def knot(s: int) -> str:
            structure, shard = structures[s], self._encode([sequences[s]], [given[s]])
            first = self._upper_pairs(shard)
            crossed = crossable(structure, first)
            if not crossed.any():
                return structure
            beside = without_pairs(given[s], crossed, structure)
            second = self._upper_pairs(self._encode([sequences[s]], [beside]))
            required, is_base = np.zeros(shard.letters.size, bool), shard.letters != ABSENT
            if shard.base_scores.size:
                required = shard.known(0).required
            return with_knots(structure, first, second, (nested, threshold), required[is_base])

        return list(make_executor(self.n_jobs).map(knot, range(len(sequences))))

    def _upper_pairs(self, shard: RNAShard) -> Any:
        """Probabilities of the pairs (i, j), i < j, of a sequence that are not improbable, sparse."""
        from scipy.sparse import coo_array

        (table,) = self._each(shard, lambda part: [self._structure.pair_probabilities(self.coef_, part, 0)])
        if isinstance(table, np.ndarray):
            table = coo_array(np.where(table > _PROBABLE_PAIR, table, 0.0))
        sparse = table.tocoo()
        kept = sparse.data > _PROBABLE_PAIR
        coords = tuple(axis[kept] for axis in sparse.coords)
        return coo_array((sparse.data[kept], coords), sparse.shape).tocsr()

    def predict_alignment(self, rows: Sequence[str], threshold: float = CONSENSUS_THRESHOLD) -> str:
        """Predict the consensus structure of aligned sequences, in dot-bracket notation (see `consensus`).

        Parameters
        ----------
        rows : list of str
            Aligned sequences of one family, with ``-`` for gaps, all of the same length.
        threshold : float
            The structure maximizes the sum of (probability - `threshold`) over its pairs of columns. A higher
            threshold gives fewer pairs.
        """
        self._require_probabilities()
        given = inputs.checked_strings(rows, "row")
        return consensus(self.pair_probabilities, given, threshold, self.n_jobs).structure

    def predict_viterbi(self, X: Any, constraints: Any = None) -> list[str]:
        """Predict the most probable structure of each sequence."""
        return self._folded(X, constraints, 1, lambda rna, part: [rna.best(self.coef_, part)[0]])[0]

    def predict_centroid(self, X: Any, threshold: float = 0.5, constraints: Any = None) -> list[str]:
        """Predict, for each sequence, the nested pairs that maximize the sum of (probability - `threshold`).

        At 0.5 these are all pairs with a probability above 0.5: the centroid of all structures.
        """
        self._require_probabilities()
        inputs.checked_threshold(threshold)
        return self._folded(
            X, constraints, 1, lambda rna, part: [rna.best_centroid(self.coef_, part, threshold)]
        )[0]

    def predict_nbest(
        self, X: Any, n: int = 5, constraints: Any = None, within: float = math.inf
    ) -> list[list[tuple[str, float]]]:
        """Predict the `n` most probable structures of each sequence, with their probabilities, best first.

        Parameters
        ----------
        within : float
            Largest difference in log probability from the most probable structure. A sequence of
            76 bases has some 100,000 structures within 12.
        X, n, constraints
            Sequences, largest number of structures of each, and constraints as in `predict`.
        """
        found = self._ranked(X, n, constraints, within)
        return [list(zip(structures, p.tolist(), strict=True)) for structures, p in found]

    def _ranked(
        self, X: Any, n: int, constraints: Any, within: float
    ) -> list[tuple[inputs.Structures, FloatArray]]:
        """The most probable structures of each sequence, and their probabilities."""
        self._require_probabilities()
        n, within = inputs.checked_number(n), inputs.checked_within(within, "within", np.inf, "a number >= 0")
        shard, rna, w = self._encode(X, constraints), self._structure, self.coef_

        def fold(part: RNAShard) -> list[tuple[inputs.Structures, FloatArray]]:
            log_z, letters = rna.log_partition(w, part), np.split(part.letters, part.offsets[1:-1])
            best = rna.n_best(w, part, n, within)
            return [
                (inputs.Structures(partners, own), np.exp(scores - z))
                for (partners, scores), z, own in zip(best, log_z, letters, strict=True)
            ]

        return self._each(shard, fold)

    def sample(
        self, X: Any, n: int = 1, random_state: Any = None, constraints: Any = None
    ) -> list[list[str]]:
        """Sample `n` structures of each sequence from the distribution of the model.

        Parameters
        ----------
        random_state : int or numpy.random.Generator, optional
            Random seed; by default each call returns other samples. With the same seed a sequence gets the
            same samples, whichever other sequences are in `X`, also in ``structune fold --samples --seed``. A
            second copy of a sequence in `X` gets different samples.
        X, n, constraints
            Sequences, number of structures of each, and constraints as in `predict`.
        """
        draws = inputs.Draws(random_state)
        generators = [draws.of(sequence) for sequence in inputs.checked_strings(X, "sequence")]
        return [list(structures) for structures in self._drawn(X, n, generators, constraints)]

    def _drawn(
        self, X: Any, n: int, generators: Sequence[np.random.Generator], constraints: Any
    ) -> list[inputs.Structures]:
        """Structures of each sequence, drawn with their probabilities."""
        self._require_probabilities()
        n = inputs.checked_number(n)
        shard = self._encode(X, constraints)

        def draw(s: int) -> inputs.Structures:
            part = shard.take([s])
            return inputs.Structures(self._structure.sample(self.coef_, part, n, generators[s]), part.letters)

        return list(make_executor(self.n_jobs).map(draw, range(len(shard))))

    def pair_probabilities(self, sequence: str, constraints: Any = None) -> Any:
        """Compute the base-pair probability matrix of one sequence, shape (n, n), symmetric.

        With `max_span` the result is a sparse array (`scipy.sparse.csr_array`).

        Parameters
        ----------
        constraints : Constraints or str, optional
            Constraints on the structure, as in `predict`.
        """
        self._require_probabilities()
        shard = self._encode([sequence], None if constraints is None else [constraints])
        (table,) = self._each(shard, lambda part: [self._structure.pair_probabilities(self.coef_, part, 0)])
        if not isinstance(table, np.ndarray):
            return table + table.T
        for i in range(len(table)):  # in place: a table may be most of the memory
            table[i:, i] = table[i, i:]
        return table

    def dimer_probabilities(self, X: Any, constraints: Any = None) -> FloatArray:
        """Compute the probability that a pair joins the two strands of each sequence "A&B".

        The result has shape (n_sequences,). It is for one molecule of each strand in the volume that
        `initiation` stands for: by default, concentrations of 1 M.
        """
        self._require_probabilities()
        shard, rna = self._encode(X, constraints), self._structure
        return np.array(self._each(shard, lambda part: rna.dimer_probabilities(self.coef_, part)))

    def unpaired_windows(self, sequence: str, size: int, constraints: Any = None) -> FloatArray:
        """Compute the accessibility: the probability that bases i to i + size - 1 are all unpaired.

        Parameters
        ----------
        size : int
            Number of bases of a window, such as those that a miRNA or a probe binds.
        constraints : Constraints or str, optional
            As in `pair_probabilities`, but without bases that must pair.

        Returns
        -------
        ndarray, shape (n_bases - size + 1,)
            The probability for each first base i, from 0; empty if the sequence is shorter than the window.

        Raises
        ------
        DataError
            The constraints require bases to pair, the sequence has two strands, or it is circular.
        CapabilityError
            The weights are so large that the sums overflow.
        """
        self._require_probabilities()
        self._refuse_circles("windows of unpaired bases")
        shard = self._encode([sequence], None if constraints is None else [constraints])
        n = inputs.checked_number(size)
        (found,) = self._each(shard, lambda part: [self._structure.unpaired_windows(self.coef_, part, 0, n)])
        return np.asarray(found)

    def log_partition(self, X: Any, constraints: Any = None) -> FloatArray:
        """Compute the log of the sum of exp(score) over the structures of each sequence, (n_sequences,)."""
        shard = self._encode(X, constraints)
        return np.array(self._each(shard, lambda part: self._structure.log_partition(self.coef_, part)))

    def log_loss(self, X: Any, y: Any) -> FloatArray:
        """Compute the negative log-probability of each structure, shape (n_sequences,).

        It is inf for structures that the model cannot produce. For a partly known structure (`Constraints`)
        it is the loss that `fit` minimizes; constraints that no structure satisfies are an error.
        """
        self._require_probabilities()
        self._check_fitted()
        rna, w, sequences = self._structure, self.coef_, inputs.checked_strings(X, "sequence")
        rna.encode(sequences)  # refuses what is no sequence
        examples = inputs.fit_into_space(rna, sequences, inputs.checked_outputs(y), "skip")
        shard = examples.shard(rna, sequences)

        def loss(part: RNAShard) -> FloatArray:
            return np.asarray(rna.log_partition(w, part) - rna.log_partition(w, part, within=True))

        losses = np.full(len(sequences), np.inf)
        losses[examples.kept] = self._each(shard, loss)
        losses[list(examples.unknotted)] = np.inf
        return losses

    def judge(self, X: Any, y: Any) -> list[Judgement]:
        """Compute the probability and the expected accuracy of given structures.

        Parameters
        ----------
        X, y : list of str
            Sequences and their structures. A structure that the model cannot produce has probability 0, but
            its expected accuracy is still defined.
        """
        sequences, structures = inputs.checked_strings(X, "sequence"), inputs.checked_strings(y, "structure")
        if len(sequences) != len(structures):
            raise DataError(f"there are {len(structures):,} structures, but {len(sequences):,} sequences")
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
        """Compute the F1 of the base pairs that `predict` finds, pooled over sequences.

        Parameters
        ----------
        y : list of str
            Known structures in dot-bracket notation. Pairs in pseudoknots count as missed, because `predict`
            predicts none.
        """
        return float(base_pair_scores(inputs.checked_strings(y, "structure"), self.predict(X)).pooled.f1)

    def _each(self, shard: Any, function: Callable[[Any], Iterable[Any]]) -> list[Any]:
        if len(shard) != 1:
            return super()._each(shard, function)
        # To prepare threads takes as long as a short sequence; a long one uses them all.
        with using_cores(cores() or count_jobs(self.n_jobs)):
            return list(function(shard))

    def _refuse_circles(self, what: str) -> None:
        if self.circular:
            raise DataError(f"circular=True cannot be combined with {what}")

    def _encode(self, X: Any, constraints: Any) -> RNAShard:
        self._check_fitted()
        given = None if constraints is None else as_list(constraints, "constraints")
        return self._structure.encode(inputs.checked_strings(X, "sequence"), constraints=given)

    # --- files --------------------------------------------------------------------------------------------

    @classmethod
    def pretrained(cls) -> RNAFolder:
        """Load the pretrained model that is included in structune.

        Raises
        ------
        ModelFileError
            The installation lacks the model file.
        """
        folder: RNAFolder = load_shipped("structune.rna")
        return folder

    @classmethod
    def from_contrafold(cls, path: str | os.PathLike[str], **parameters: Any) -> RNAFolder:
        """Create a folder with the weights of a parameter file of CONTRAfold or EternaFold.

        Parameters
        ----------
        path : path
        **parameters
            Parameters of the constructor, such as `min_hairpin`, which is 0 in CONTRAfold.

        Raises
        ------
        DataError
            The file is damaged or has another feature set; the message names it.
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
            The features of the model are not those of CONTRAfold.
        """
        self._check_fitted()
        if self.rna_.feature_set != "contrafold":
            told = f"features={self.rna_.feature_set!r} cannot be written to a parameter file of CONTRAfold"
            raise DataError(f"{told}; train with features='contrafold'")
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
