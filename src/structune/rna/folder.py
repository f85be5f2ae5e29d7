"""The RNA folder: secondary structures by CONTRAfold's model, with scikit-learn's face."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self

from structune.errors import DataError
from structune.files.models import load_shipped
from structune.learning.blocks import BlockEstimator, Blocks, in_block
from structune.learning.estimator import Encoded
from structune.learning.estimator_file import Arrays
from structune.learning.parameters import Range, parameters
from structune.rna.defaults import INITIATION
from structune.rna.folder_file import contrafold_weights, pack_rna, unpack_rna, unpack_weights, weights_of
from structune.rna.folder_space import FittingExamples, LeftOut, fit_into_space
from structune.rna.formats.contrafold import write_contrafold
from structune.rna.inputs import (
    checked_decoding,
    checked_outputs,
    checked_strings,
    chosen_groups,
)
from structune.rna.predictions import RNAPredictions
from structune.rna.structure.rna import RNA
from structune.rna.structure.shard import RNAShard
from structune.structure import FloatArray, check_weights


@parameters
class RNAFolder(RNAPredictions, BlockEstimator):
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
    penalty : float or dict
        Regularization strength: the precision of the Gaussian prior of the weights. One number, or one per
        group name (1 for groups not named). Ignored with `tuning`. It may be 0 where `l1` is positive.
    l1 : float or dict
        Weight of an l1 penalty, which makes weights exactly zero. It adds ``l1 |w|`` to half the penalty
        times w^2 (elastic net). One number, or one per group name (0 for groups not named). Needs a smooth
        loss, and ``tuning=None`` or "grid", which chooses precisions beside it.
    tuning : None, "implicit", "majorize", "direct", "grid", or a tuner
        Method that chooses the regularization strength of each group of weights. None, the default, fits with
        `penalty`. "implicit" and "direct" need the log loss.
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
        Set of features: CONTRAfold's 708, or these and more (see `RNA`), each kind of which is one more
        group.
    outside : {"skip", "trim", "error"}
        What to do with training structures that the model cannot produce, which would have an infinite loss.
        These have pairs of bases that cannot pair, hairpins shorter than `min_hairpin`, or loops of more than
        30 unpaired bases. "skip" leaves them out and "trim" their offending pairs alone, with a warning;
        "error" refuses them. Pairs of pseudoknots, all but those in round brackets, are dropped, or an error.
    center : "pretrained" or RNAFolder, optional
        Model whose weights are the mean of the prior, in place of zero. What few structures of your own do
        not tell stays. Needs ``loss="log"``, and the features of the model or more ("extended" if
        pretrained).
    holdout : float
        Share of the examples that tuning holds out.
    folds : int, optional
        Number of cross-validation folds for tuning, in place of a single held-out part.
    tolerance : float
        Relative tolerance of a fit. It ends when the norm of the gradient is at most this times that at w =
        0, or where rounding hides what is left. With margin and ramp losses it ends at a gap of ten times
        this, relative to the objective, and the convex-concave procedure when a round gains less. A tuner
        object has a tolerance of its own.
    warm_start : bool
        Start at the weights of the previous fit. Has no effect with `tuning`.
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
        examples, shard, groups = self._training(rna, left_out, X, y, sample_weight, groups)
        left_out.report()
        return Encoded(rna, shard, groups, {"rna_": rna, "skipped_": examples.skipped})

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
    ) -> tuple[FittingExamples, RNAShard, Any]:
        """Examples in the space of the model, encoded, with their groups."""
        sequences, structures = checked_strings(X, "sequence"), checked_outputs(y)
        if not sequences:
            raise DataError("the training set is empty: expected at least one sequence")
        rna.encode(sequences)  # refuses what is no sequence
        weights = check_weights(sample_weight, len(sequences))
        examples = fit_into_space(rna, sequences, structures, self.outside, names)
        shard, start = examples.shard(rna, sequences, weights), left_out.n_examples
        left_out.add(examples, names)
        groups = chosen_groups(groups, examples.kept, len(sequences))
        return examples, replace(shard, numbers=shard.numbers + start), groups

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
        space = self.min_hairpin, self.noncanonical, self.features
        return RNA(*space, self.max_span, self.circular, self.initiation)

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
        folder._unpack_fit(rna.n_weights, header, arrays)
        folder.coef_ = unpack_weights(rna, arrays)
        folder.rna_, folder.skipped_ = (
            rna.like(folder.max_span, folder.circular, folder.initiation),
            [(int(s), str(reason)) for s, reason in header["skipped"]],
        )
        return folder
