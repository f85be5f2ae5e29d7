"""The RNA folder: secondary structures by CONTRAfold's model, with scikit-learn's face."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from structune.errors import DataError
from structune.files.models import load_shipped
from structune.learning.estimator import StructuredEstimator
from structune.learning.estimator_file import Arrays, unpack_fit
from structune.learning.parameters import parameters
from structune.learning.ranges import Range
from structune.rna.consensus import consensus
from structune.rna.folder_file import contrafold_weights, pack_rna, unpack_rna, unpack_weights, weights_of
from structune.rna.folder_space import fit_into_space
from structune.rna.formats.contrafold import write_contrafold
from structune.rna.inputs import (
    checked_gammas,
    checked_number,
    checked_outputs,
    checked_strings,
    chosen_groups,
    dot_bracket_rows,
    dot_brackets,
)
from structune.rna.metrics import base_pair_scores
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.rna import RNA
from structune.rna.structure.shard import RNAShard
from structune.running.executors import make_executor
from structune.structure import FloatArray, check_weights


@parameters
class RNAFolder(StructuredEstimator):
    """RNA secondary structures by a conditional log-linear model, with regularisation that it can learn.

    Parameters
    ----------
    groups : "kind", "single", "separate", or callable
        Which weights share a precision: those of one kind of feature, the 15 groups of Do, Foo & Ng 2007
        (helix stacking, hairpin lengths, dangles, ...); all; none; or by a function from a weight's name to
        its group's (names look like ``helix_stacking_ACGU``).
    loss : {"log", "margin", "ramp"}, or a loss
        What is minimised: the negative log-probability of the training structures; the margin loss with 1 -
        recall of base pairs as cost; or the ramp loss, which gives up on sequences that are far off
        (Chapelle et al. 2008).
    gamma : float
        Of predictions: how much a right pair counts beside two right unpaired bases. More predicts more
        pairs.
    min_hairpin : int
        Fewest unpaired bases in a hairpin.
    noncanonical : bool
        Whether all bases may pair, and not only AU, CG and GU.
    features : {"contrafold", "extended"}
        CONTRAfold's 708 features, or these and more (see `RNA`), of which each kind is one more group.
    outside : {"skip", "trim", "error"}
        What to do with training structures that the model cannot produce, which would have an infinite loss:
        those with pairs of bases that cannot pair, hairpins shorter than `min_hairpin`, or loops of more than
        30 unpaired bases. They are left out, or only their offending pairs are, with a warning; or they are
        an error. Pairs of pseudoknots, all but those in round brackets, are dropped, or an error.
    center : "pretrained" or RNAFolder, optional
        The prior of the weights has its mean at those of this model, not at zero: what few structures of your
        own do not tell stays. With ``loss="log"``, and its features or more ("extended" if pretrained).

    Attributes
    ----------
    coef_ : ndarray, shape (n_weights,)
        Named by ``rna_.weight_names()``.
    skipped_ : list of (int, str)
        Training examples that were left out, and why.
    rna_ : RNA

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
    min_hairpin: int = 3
    noncanonical: bool = False
    features: str = "contrafold"
    outside: str = "skip"
    center: Any = None

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from sequences with known structures.

        Parameters
        ----------
        X : list of str
            Sequences over ACGU; T is U, and other letters of the IUPAC code are bases that do not pair.
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
        rna, loss = self._rna(), self._make_loss()
        sequences, structures = checked_strings(X, "sequence"), checked_outputs(y)
        if not sequences:
            raise DataError("the training set is empty: expected at least one sequence")
        rna.encode(sequences)  # refuses what is no sequence
        weights = check_weights(sample_weight, len(sequences))
        examples = fit_into_space(rna, sequences, structures, self.outside)
        examples.report()
        shard, groups = examples.shard(rna, sequences, weights), chosen_groups(groups, examples.kept, len(X))
        self._learn(rna, loss, shard, self._start(rna), groups)
        self.rna_, self.skipped_ = rna, examples.skipped
        return self

    @property
    def _structure(self) -> RNA:
        return self.rna_

    def _origin(self, structure: Any) -> FloatArray | None:
        return None if self.center is None else weights_of(self.center, structure, self._make_loss())

    def __sklearn_clone__(self) -> Self:
        """With the same center: it is fitted, and is not to be emptied."""
        center, self.center = self.center, None
        try:
            return super().__sklearn_clone__().set_params(center=center)
        finally:
            self.center = center

    def _rna(self) -> RNA:
        return RNA(self.min_hairpin, self.noncanonical, self.features)

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(self, X: Any, gamma: float | None = None, constraints: Any = None) -> list[str]:
        """The structure of maximum expected accuracy of each sequence, in dot-bracket notation.

        Of a model that was not fitted by log loss, whose scores give no probabilities, the structure of the
        highest score; `gamma` is of no account then.

        Parameters
        ----------
        X : list of str
        gamma : float, optional
            Instead of that of the constructor.
        constraints : list, optional
            For each sequence what is known of its structure: `Constraints`, their notation, or None. They
            shape the probabilities: a base that must pair, with many, may still be left out by a small gamma.
        """
        if not self.has_probabilities:
            return self.predict_viterbi(X, constraints)
        return self.predict_mea(X, [self.gamma if gamma is None else gamma], constraints)[0]

    def predict_mea(self, X: Any, gammas: Iterable[float], constraints: Any = None) -> list[list[str]]:
        """What `predict` gives for each of `gammas`, at the cost of little more than one."""
        self._require_probabilities()
        shard, gammas = self._encode(X, constraints), checked_gammas(gammas)

        def fold(part: RNAShard) -> list[tuple[str, ...]]:
            found = self.rna_.best_mea(self.coef_, part, gammas)
            return list(zip(*(dot_brackets(partners, part.offsets) for partners in found), strict=True))

        rows = self._each(shard, fold)
        return [[row[k] for row in rows] for k in range(len(gammas))]

    def predict_alignment(self, rows: Sequence[str], gamma: float | None = None) -> str:
        """The structure of maximum expected accuracy of aligned sequences, a character a column.

        Pair probabilities are the means of those of the sequences; bases opposite to gaps pair with none.

        Parameters
        ----------
        rows : list of str
            Sequences of one family with ``-`` for gaps, all of one length.
        gamma : float, optional
            Instead of that of the constructor.
        """
        self._require_probabilities()
        (chosen,) = checked_gammas([self.gamma if gamma is None else gamma])
        return consensus(self, checked_strings(rows, "row"), chosen).structure

    def predict_viterbi(self, X: Any, constraints: Any = None) -> list[str]:
        """The most probable structure of each sequence."""

        def fold(part: RNAShard) -> list[str]:
            return dot_brackets(self.rna_.best(self.coef_, part)[0], part.offsets)

        return self._each(self._encode(X, constraints), fold)

    def predict_centroid(self, X: Any, threshold: float = 0.5, constraints: Any = None) -> list[str]:
        """For each sequence the nested pairs of the greatest sum of probability - `threshold`.

        At 0.5 these are all pairs of a probability above it: the centroid of all structures.
        """
        self._require_probabilities()
        if not 0.0 <= threshold <= 1.0:
            raise DataError(f"threshold={threshold!r}: expected a number within [0, 1]")

        def fold(part: RNAShard) -> list[str]:
            return dot_brackets(self.rna_.best_centroid(self.coef_, part, threshold), part.offsets)

        return self._each(self._encode(X, constraints), fold)

    def predict_nbest(
        self, X: Any, n: int = 5, constraints: Any = None, within: float = math.inf
    ) -> list[list[tuple[str, float]]]:
        """For each sequence its `n` most probable structures with their probabilities, falling.

        Parameters
        ----------
        within : float
            How far the log probability may be below that of the most probable one. There may be millions: a
            sequence of 76 bases has some 100,000 within 12.
        """
        self._require_probabilities()
        n = checked_number(n)
        if not within >= 0.0:
            raise DataError(f"within={within!r}: expected a number >= 0")

        def fold(part: RNAShard) -> list[list[tuple[str, float]]]:
            log_z = self.rna_.log_partition(self.coef_, part)
            found = self.rna_.n_best(self.coef_, part, n, within)
            return [
                list(zip(dot_bracket_rows(partners), np.exp(scores - z).tolist(), strict=True))
                for (partners, scores), z in zip(found, log_z, strict=True)
            ]

        return self._each(self._encode(X, constraints), fold)

    def sample(
        self, X: Any, n: int = 1, random_state: Any = None, constraints: Any = None
    ) -> list[list[str]]:
        """For each sequence `n` structures, drawn with their probabilities.

        Parameters
        ----------
        random_state : int or numpy.random.Generator, optional
            Not that of the constructor. Draws for a sequence depend on its place among the others, and on
            nothing else of them.
        """
        self._require_probabilities()
        n = checked_number(n)
        shard = self._encode(X, constraints)
        generators = np.random.default_rng(random_state).spawn(len(shard))

        def draw(s: int) -> list[str]:
            return dot_bracket_rows(self.rna_.sample(self.coef_, shard.take([s]), n, generators[s]))

        return list(make_executor(self.n_jobs).map(draw, range(len(shard))))

    def pair_probabilities(self, sequence: str, constraints: Any = None) -> FloatArray:
        """Probability of each pair of bases of one sequence, shape (n, n), symmetric.

        Parameters
        ----------
        constraints : Constraints or str, optional
            What is known of its structure.
        """
        self._require_probabilities()
        shard = self._encode([sequence], None if constraints is None else [constraints])
        table = self.rna_.pair_probabilities(self.coef_, shard, 0)
        for i in range(len(table)):
            table[i:, i] = table[i, i:]
        return table

    def log_partition(self, X: Any, constraints: Any = None) -> FloatArray:
        """Log of the sum of exp(score) over the structures of each sequence, shape (n_sequences,)."""
        shard = self._encode(X, constraints)
        return np.array(self._each(shard, lambda part: self.rna_.log_partition(self.coef_, part)))

    def log_loss(self, X: Any, y: Any) -> FloatArray:
        """-log of the probability of each structure, shape (n_sequences,); inf outside the model's space.

        Of what is only partly known, as in `fit`, that of the evidence: the sum over structures of their
        probability times exp(score by the evidence); evidence that no structure agrees with is an error.
        """
        self._require_probabilities()
        self._check_fitted()
        rna, w, sequences = self.rna_, self.coef_, checked_strings(X, "sequence")
        rna.encode(sequences)  # refuses what is no sequence
        examples = fit_into_space(rna, sequences, checked_outputs(y), "skip")
        shard = examples.shard(rna, sequences)

        def loss(part: RNAShard) -> FloatArray:
            return np.asarray(rna.log_partition(w, part) - rna.log_partition(w, part, within=True))

        losses = np.full(len(sequences), np.inf)
        losses[examples.kept] = self._each(shard, loss)
        losses[list(examples.unknotted)] = np.inf
        return losses

    def score(self, X: Any, y: Any) -> float:
        """F1 of the base pairs that `predict` finds, pooled over sequences.

        Parameters
        ----------
        y : list of str
            Structures in dot-bracket notation; pseudoknots count, though none is ever predicted.
        """
        return float(base_pair_scores(checked_strings(y, "structure"), self.predict(X)).pooled.f1)

    def _encode(self, X: Any, constraints: Any) -> RNAShard:
        self._check_fitted()
        if isinstance(constraints, str | Constraints):
            raise DataError(f"found one {type(constraints).__name__}, expected a list of constraints")
        given = None if constraints is None else list(constraints)
        return self.rna_.encode(checked_strings(X, "sequence"), constraints=given)

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
        folder._import(contrafold_weights(folder.rna_, path))
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
        header, arrays = pack_rna(self.rna_)
        return {**header, "skipped": self.skipped_}, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> RNAFolder:
        folder, rna = cls(), unpack_rna(header)
        unpack_fit(folder, rna.n_weights, header, arrays)
        folder.coef_ = unpack_weights(rna, arrays)
        folder.rna_, folder.skipped_ = rna, [(int(s), str(reason)) for s, reason in header["skipped"]]
        return folder
