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
from structune.learning.estimator_file import Arrays, unpack_fit
from structune.learning.parameters import parameters
from structune.learning.ranges import Range
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
    groups : "kind", "single", "separate", or callable
        Which weights share a precision: those of one kind of feature, the 15 groups of Do, Foo & Ng 2007
        (helix stacking, hairpin lengths, dangles, ...); all; none; or by a function from a weight's name to
        its group's (names look like ``helix_stacking_ACGU``).
    loss : {"log", "margin", "ramp"}, or a loss
        What is minimised: the negative log-probability of the training structures; the margin loss with 1 -
        recall of base pairs as cost; or the ramp loss, which gives up on sequences that are far off
        (Chapelle et al. 2008).
    gamma : float
        Of predictions: how much a right pair counts beside two right unpaired bases ("mea") or beside a wrong
        pair ("centroid"). More predicts more pairs.
    decoding : {"mea", "centroid"}
        What `predict` gives: the structure of maximum expected accuracy, in which right unpaired bases count
        (Do, Woods & Batzoglou 2006), or the gamma-centroid, in which pairs alone do (Hamada et al. 2009).
    min_hairpin : int
        Fewest unpaired bases in a hairpin.
    noncanonical : bool
        Whether all bases may pair, and not only AU, CG and GU.
    max_span : int, optional
        How far the bases of a pair may be apart. Time and memory then grow with the length of a sequence, not
        with its cube and square: for genomes. Predictions of a fitted model keep to it, too.
    circular : bool
        Whether sequences are circles, the last base followed by the first.
    initiation : float
        Of sequences of two strands, "A&B": the score of being together, before any pair, at concentrations of
        1 M. At others, 0.6 times the log of theirs is to be added (-8 at 1 uM), for scores of the pretrained
        model are about that part of energies in units of kT.
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
        Training examples that were left out, and why; of a folder of shards at most a thousand.
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
        rna, loss, _ = self._rna(), self._make_loss(), checked_decoding(self.decoding)
        left_out = LeftOut()
        examples, shard, groups = self._training(rna, left_out, X, y, sample_weight, groups)
        left_out.report()
        self._learn(rna, loss, shard, self._start(rna), groups)
        self.rna_, self.skipped_ = rna, examples.skipped
        return self

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
        unpack_fit(folder, rna.n_weights, header, arrays)
        folder.coef_ = unpack_weights(rna, arrays)
        folder.rna_, folder.skipped_ = (
            rna.like(folder.max_span, folder.circular, folder.initiation),
            [(int(s), str(reason)) for s, reason in header["skipped"]],
        )
        return folder
