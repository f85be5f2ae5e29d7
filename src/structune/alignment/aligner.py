"""Alignments of two proteins, and of families, with scikit-learn's face."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from structune.alignment.metrics import alignment_scores
from structune.alignment.multiple import (
    MultipleAlignment,
    align,
    every_pair,
    match_probabilities,
    pairs_along,
    word_tree,
)
from structune.alignment.structure.alignment import Alignment, AlignmentShard
from structune.alignment.structure.alphabets import PROTEIN, warn_of_nucleotides
from structune.alignment.structure.inference import check_room
from structune.alignment.structure.matrices import (
    GAP_EXTEND,
    GAP_OPEN,
    alphabet_of,
    log_odds,
    log_odds_scale,
    matrix_weights,
    read_matrix,
)
from structune.alignment.structure.proteins import Protein, ProteinPair, as_protein
from structune.alignment.structure.rows import rows_of, warn_of_band, warn_of_narrow_band
from structune.errors import DataError, ModelFileError
from structune.files.inputs import as_list, checked_length
from structune.files.models import Arrays, entries, load_shipped, pack_names, unpack_names
from structune.learning.estimator import BlockEstimator, Blocks, Encoded, in_block
from structune.learning.losses import Loss
from structune.learning.parameters import Range, parameters
from structune.running.executors import make_executor
from structune.structure import FloatArray, IntArray

Pairs = Sequence[ProteinPair]
Rows = Sequence[tuple[str, str]]
T = TypeVar("T")
_STANDING = 8  # sequences that stand for a side of a merge


class ConfidentAlignment(NamedTuple):
    """An alignment of two proteins: rows, with ``-`` for gaps, and how probable its matches are.

    ``confidence`` (n_columns,) is the probability of each match, nan where there is a gap; ``posterior``
    (n, m) that of each match of any two residues, None if not asked for.
    """

    rows: tuple[str, str]
    confidence: FloatArray
    posterior: FloatArray | None


@parameters
class SequenceAligner(BlockEstimator):
    """Alignments of two proteins by a conditional log-linear model, with regularisation that it can learn.

    Parameters
    ----------
    loss : {"log", "margin", "ramp", "equivalent"}, or a loss
        Loss that training minimizes. "log": the negative log-probability of what is known of an alignment.
        The others count the share of the known matches that is missed: relative to the alignment as it is
        given ("margin"), to the best one with all known matches ("equivalent"), or to none ("ramp").
    groups : {"kind", "single", "separate"} or callable
        Which weights share a regularization strength. "kind": those of one kind of feature (substitutions,
        neighbours at each distance, lengths of gaps, ...). "single": all. "separate": none. Or those that a
        function of a weight's name gives the same group name.
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
        How much a right match counts in predictions, beside two residues rightly left unmatched. Infinity
        matches all that has any probability.
    features : {"full", "affine"}
        Set of features. "affine": substitutions, affine gaps, terminal gaps. "full": also the classes of
        residues around a match, residues in gaps, lengths of gaps, and how hydrophilic the sequences are
        around a gap.
    overhangs : {"both", "one"}
        Whether both sequences may have residues beyond the same end of what is matched, or only one.
    center : str, optional
        Substitution matrix of Biopython that the prior has its mean at, such as "BLOSUM62". Means of
        substitutions and lengths of gaps are the scores of the matrix with gaps of 11 and 1 and free ends, as
        log odds, and not zero. Needs ``loss="log"``; for few alignments.
    band : int, optional
        Largest distance of an alignment, in residues of the longer sequence, from the line between both ends
        of its matches. It holds in fits and predictions, for long sequences that go together all along. None
        for no limit.
    alphabet : {"protein", "nucleotide"}
        Alphabet of the sequences: amino acids, or the bases of DNA or RNA with their ambiguity codes.
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
    alignment_ : Alignment
        The structure.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        What every fit keeps: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    The model is that of Do, Gross & Batzoglou (2006), with lengths of gaps in place of a second pair of gap
    states, so that every alignment is scored once. Where a reference has residues in lower case its other
    columns are not known, and "log" sums over all alignments that have the known matches.

    Examples
    --------
    >>> from structune import SequenceAligner
    >>> pairs = [("HEAGAWGHEE", "PAWHEAE"), ("GAWGHE", "AWHE")]
    >>> rows = [("HEAGAWGHE-E", "---PAW-HEAE"), ("GAWGHE", "-AW-HE")]
    >>> aligner = SequenceAligner(penalty=0.1).fit(pairs, rows)
    >>> aligner.predict([("AGAWGHE", "PAWHE")])
    [('AGAWGHE', '-PAW-HE')]

    With secondary structures, or profiles, which all sequences must have then:

    >>> from structune import Protein
    >>> pair = Protein("GAWGHE", secondary="CEEHHH"), Protein("AWHE", secondary="EEHH")
    >>> aligner = SequenceAligner(penalty=0.1).fit([pair], rows[1:])
    >>> aligner.predict([pair])
    [('GAWGHE', '-AW-HE')]
    """

    _learns_tasks = True
    _natural_groups = "kind"
    _ranges: ClassVar = {"gamma": Range(0)}

    gamma: float = 4.0
    features: str = "full"
    overhangs: str = "both"
    center: str | None = None
    band: int | None = None
    alphabet: str = "protein"
    alignment_: Alignment = field(init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Pairs, y: Rows, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from pairs with reference alignments.

        Parameters
        ----------
        X : list of pairs of str or Protein
            Sequences in one-letter code, of either case. B, Z and J count as the two residues that they may
            be, U as C, O as K, X and * as any. A `Protein` may also have a profile, as many columns in all
            sequences, or a secondary structure: the model learns what these say of matches and of gaps, if
            all have them, and then asks for them.
        y : list of pairs of str
            Their alignments, with ``-`` or ``.`` for gaps. If any residue of a pair is in lower case, only
            the matches of two residues in upper case are known.
        sample_weight : array-like, shape (n_pairs,), optional
        groups : array-like, shape (n_pairs,), optional
            Pairs of one group (a family, say) stay on one side of every held-out split.

        Raises
        ------
        DataError
            Names the pair that cannot be used.
        """
        return self._fit(self._encode_training(X, y, sample_weight, groups))

    def _encode_training(
        self,
        X: Pairs,
        y: Rows,
        sample_weight: Any = None,
        groups: Any = None,
        structure: Alignment | None = None,
    ) -> Encoded:
        pairs, rows = as_list(X, "pairs"), as_list(y, "alignments")
        if not pairs:
            raise DataError("the training set is empty: expected at least one pair")
        options = self.features, self.overhangs, self.band, self.alphabet
        alignment = Alignment.for_pairs(pairs, *options) if structure is None else structure
        shard = alignment.encode(pairs, rows, sample_weight)
        return Encoded(alignment, shard, groups, {"alignment_": alignment})

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[AlignmentShard, Any]]:
        for number, block in enumerate(blocks()):
            with in_block(number):
                X, y, weights, groups = [*block, None, None][:4]
                structure = self.alignment_ if number else None
                encoded = self._encode_training(X, y, weights, groups, structure)
            self.alignment_ = encoded.structure
            yield encoded.shard, encoded.groups

    def _adopt(self, model: Self) -> None:
        super()._adopt(model)
        self.band = model.band  # predictions keep to it, too

    def _check_known(self, shards: Sequence[AlignmentShard], loss: Loss) -> None:
        if not any(shard.whole.any() or shard.scored.any() for shard in shards):
            raise DataError("found no known match, expected a column of two residues in upper case")
        if loss.name == "margin" and any(shard.is_partly_known for shard in shards):
            raise DataError(
                "found alignments known in part, which have no score for loss='margin': expected "
                "loss='equivalent'"
            )
        if self.center is not None and not loss.smooth:
            raise DataError(f"found center={self.center!r} and loss={loss.name!r}, expected loss='log'")

    def _origin(self, structure: Any) -> FloatArray | None:
        return None if self.center is None else log_odds(structure.feature_set, self.center)

    @property
    def _structure(self) -> Alignment:
        return self.alignment_.with_band(self.band)

    # --- prediction ---------------------------------------------------------------------------------------

    def memory_of(self, n: int, m: int, keep: bool = False) -> float:
        """Bytes that the alignments of sequences of n and m residues take; more to keep all probabilities."""
        return self._structure.memory_of(checked_length(n), checked_length(m, "m"), keep)

    def predict(self, X: Pairs, gamma: float | None = None) -> list[tuple[str, str]]:
        """The alignment of maximum expected accuracy of each pair, as two rows with ``-`` for gaps.

        Of a model that was not fitted by log loss, whose scores give no probabilities, the alignment of the
        highest score.

        Parameters
        ----------
        X : list of pairs of str or Protein
        gamma : float, optional
            Instead of that of the constructor.
        """
        chosen = self._checked_gamma(gamma, self.has_probabilities)
        if not self.has_probabilities:
            return self.predict_viterbi(X)
        return self._rows(X, lambda part: self._structure.best_accuracy(self.coef_, part, chosen))

    def predict_viterbi(self, X: Pairs) -> list[tuple[str, str]]:
        """The most probable alignment of each pair: that of the highest score."""
        return self._rows(X, lambda part: self._structure.best(self.coef_, part)[0])

    def predict_confidence(
        self, X: Pairs, gamma: float | None = None, method: str = "mea", posteriors: bool = False
    ) -> list[ConfidentAlignment]:
        """The alignment of each pair, and how probable each of its matches is.

        Parameters
        ----------
        X : list of pairs of str or Protein
        gamma : float, optional
            With "mea", instead of that of the constructor.
        method : {"mea", "viterbi"}
            Whether the alignments are those of `predict` or of `predict_viterbi`.
        posteriors : bool
            Whether the probabilities of all matches are wanted, too.

        Raises
        ------
        CapabilityError
            A model that was not fitted by log loss.
        """
        self._require_probabilities()
        if method not in ("mea", "viterbi"):
            raise DataError(f"method={method!r}: expected 'mea' or 'viterbi'")
        is_mea = method == "mea"
        checked = self._checked_gamma(gamma, is_mea)
        chosen = checked if is_mea else None
        found = self._of_pairs(
            X, lambda part: self._structure.decode(self.coef_, part, chosen, keep=posteriors), posteriors
        )
        warn_of_band(((decoded.partner, len(y)) for (_, y), decoded in found), self.band)
        aligned = []
        for pair, decoded in found:
            rows = rows_of(pair, decoded.partner)
            is_match = np.array(["-" not in column for column in zip(*rows, strict=True)], dtype=bool)
            confidence = np.full(is_match.size, np.nan)
            confidence[is_match] = decoded.confidence[decoded.partner >= 0]
            aligned.append(ConfidentAlignment(rows, confidence, decoded.posterior))
        return aligned

    def posterior(self, x: str | Protein, y: str | Protein) -> FloatArray:
        """Probability of each match of two residues of one pair, shape (n, m).

        Raises
        ------
        CapabilityError
            A model that was not fitted by log loss.
        """
        self._require_probabilities()
        self._check_fitted()
        return self._structure.posterior(self.coef_, self._structure.encode([(x, y)]), 0)

    def log_loss(self, X: Pairs, y: Rows) -> FloatArray:
        """-log of the probability of what is known of each alignment, shape (n_pairs,).

        Raises
        ------
        CapabilityError
            A model that was not fitted by log loss.
        """
        self._require_probabilities()
        self._check_fitted()
        structure, w = self._structure, self.coef_

        def loss(part: AlignmentShard) -> FloatArray:
            whole, known = (structure.log_partition(w, part, within=within) for within in (False, True))
            return np.asarray(whole - known)

        return np.array(self._each(structure.encode(as_list(X, "pairs"), as_list(y, "alignments")), loss))

    def score(self, X: Pairs, y: Rows) -> float:
        """Mean over pairs, at least one, of the share of the known matches that `predict` finds (Q)."""
        found = alignment_scores(list(y), self.predict(X)).recall
        if not found.size:
            raise DataError("found no pairs to score, expected at least one")
        return float(found.mean())

    def _checked_gamma(self, given: float | None, is_used: bool) -> float:
        """The one that is given, or that of the constructor; infinite if it is larger than doubles are."""
        if given is not None and not is_used:
            raise DataError(
                f"gamma={given!r}: expected none with method='viterbi', or of a model without probabilities"
            )
        gamma = self.gamma if given is None else given
        if not (isinstance(gamma, Real) and gamma >= 0.0):
            raise DataError(f"gamma={gamma!r}: expected a number >= 0")
        return float(gamma) if gamma <= sys.float_info.max else np.inf

    def _rows(self, X: Pairs, align: Callable[[AlignmentShard], IntArray]) -> list[tuple[str, str]]:
        """Alignments as rows with gaps; `align` finds the partners of residues of some pairs."""

        def split(part: AlignmentShard) -> list[IntArray]:
            partners = align(part)
            return [partners[a:b] for a, b in pairwise(part.starts.tolist())]

        found = self._of_pairs(X, split)
        warn_of_band(((partner, len(y)) for (_, y), partner in found), self.band)
        return [rows_of(pair, partner) for pair, partner in found]

    def _of_pairs(
        self, X: Pairs, function: Callable[[AlignmentShard], Iterable[T]], keep: bool = False
    ) -> list[tuple[tuple[str, str], T]]:
        """The residues of each pair, and what a function finds of it, on threads."""
        self._check_fitted()
        pairs = as_list(X, "pairs")
        shard = self.alignment_.encode(pairs)
        for p, (n, m) in enumerate(shard.lengths.tolist()):
            check_room(self.memory_of(n, m, keep), n, m, f"pair {p}")
        texts = [(as_protein(x).residues, as_protein(y).residues) for x, y in pairs]
        return list(zip(texts, self._each(shard, function), strict=True))

    # --- families -----------------------------------------------------------------------------------------

    def align(
        self,
        sequences: Sequence[str | Protein],
        consistency: int = 1,
        refinements: int = 3,
        matrix: str | None = "auto",
        all_pairs: int = 100,
        progress: Callable[[int], None] | None = None,
    ) -> MultipleAlignment:
        """A multiple alignment of any number of sequences.

        Parameters
        ----------
        sequences : sequence of str or Protein
        consistency : int
            How many times the probabilities of matches are made consistent with those of third sequences.
        refinements : int
            How many times, at most, the alignment is taken apart at each edge of the guide tree, and put
            together again for the highest sum of values of matches.
        matrix : str, optional
            A matrix of Biopython: probabilities are the means of those of the model and of the log odds of
            this matrix, for models of remote homologues make too little of what close ones share. "auto" for
            BLOSUM62 with models of proteins that were learned, and none with others. None for the model
            alone.
        all_pairs : int
            Up to so many sequences any two are compared. Of more, a tree of the words that they share tells
            which: at each of its merges at most eight sequences of either side.
        progress : function of int, optional
            Called with the number of sequences that were compared since the last call.

        Raises
        ------
        DataError
            No sequences, a matrix that is not known, a number that is no whole one. Or names the sequence
            that cannot be used.
        CapabilityError
            A model that was not fitted by log loss.

        Notes
        -----
        As in ProbCons (Do, Mahabhashyam, Brudno & Batzoglou 2005): probabilities of the matches of any two
        sequences, made consistent, then alignments of groups along a guide tree for the highest sum of
        values of matches. Third sequences count by the expected accuracies of their alignments with both.
        Memory is that of the probabilities from 0.01 on: some 16 bytes each, a few for each residue and
        other sequence that it is compared with.

        Examples
        --------
        >>> from structune import SequenceAligner
        >>> family = ["MKVLVVGAGIAGLTAAYLL", "MRVLVVGAGLTAAYLL", "KVAVIGAGIAGLSTAYCL"]
        >>> print(*SequenceAligner.pretrained().align(family).rows, sep="\\n")
        MKVLVVGAGIAGLTAAYLL
        MRVLVVGAG---LTAAYLL
        -KVAVIGAGIAGLSTAYCL
        """
        self._require_probabilities()
        self._check_fitted()
        proteins = [as_protein(sequence) for sequence in as_list(sequences, "sequences")]
        counts = {"consistency": consistency, "refinements": refinements, "all_pairs": all_pairs}
        for name, value in counts.items():
            if not isinstance(value, int | np.integer) or value < 0:
                raise DataError(f"{name}={value!r}: expected a whole number >= 0")
        if not proteins:
            raise DataError("found no sequences to align, expected at least one")
        # Sums of floats depend on their order, and so do ties: sequences are put in the order of their
        # letters, so that the order of the input changes nothing.
        order = sorted(range(len(proteins)), key=lambda k: proteins[k].residues)
        structure, executor = self._structure, make_executor(self.n_jobs)
        described = [structure.describe(proteins[k], f"sequence {k} (from 0)") for k in order]
        features = structure.feature_set
        # A model learned from remote homologues makes too little of what close sequences share, so the mean
        # with a general matrix is taken (docs/decisions/035).
        if matrix == "auto":
            is_learned = self.status_ != "imported"
            matrix = "BLOSUM62" if is_learned and features.alphabet is PROTEIN else None
        weights = [self.coef_] if matrix is None else [self.coef_, log_odds(features, matrix)]
        residues = [proteins[k].residues for k in order]
        warn_of_nucleotides(features.alphabet, residues)
        # without probabilities of all pairs, words tell the tree, and the tree which pairs are worth
        # comparing
        tree = word_tree(residues, features.alphabet.words) if len(residues) > all_pairs else None
        compared = every_pair(len(residues)) if tree is None else pairs_along(tree, _STANDING)
        tell = progress or (lambda _: None)
        found = match_probabilities(structure, weights, described, compared, executor, tell)
        if structure.band is not None and found.may_need_more_than(structure.band):
            warn_of_narrow_band(structure.band)
        family = align(residues, found, tree, consistency, refinements, executor)
        return family.reordered(np.argsort(order))

    # --- matrices and files -------------------------------------------------------------------------------

    @classmethod
    def pretrained(cls) -> SequenceAligner:
        """The model that comes with structune, trained on remote homologues (SABmark).

        It takes for granted that two proteins are related, and aligns others, too.

        Raises
        ------
        ModelFileError
            The installation is without it.
        """
        aligner: SequenceAligner = load_shipped("structune.alignment")
        return aligner

    @classmethod
    def from_matrix(
        cls,
        matrix: str = "BLOSUM62",
        gap_open: float = GAP_OPEN,
        gap_extend: float = GAP_EXTEND,
        ends: str = "global",
        log_odds: bool = False,
    ) -> SequenceAligner:
        """The classical special case: a substitution matrix and affine gaps.

        It has scores and no probabilities: `predict` is the algorithm of Needleman & Wunsch (1970), with the
        gaps of Gotoh (1982). B, Z, X and the like have the means of the residues that they may be, and not
        the rows of the matrix. A matrix of nucleotides makes an aligner of these.

        Parameters
        ----------
        matrix : str
            One of those of Biopython, such as "BLOSUM62", "PAM250".
        gap_open, gap_extend : float
            What the first residue of a gap costs, and each further one.
        ends : {"global", "semi-global"}
            Whether end gaps cost as much as others; or they are free, at each end in one sequence only.
        log_odds : bool
            Whether scores are scaled to log odds (Karlin & Altschul 1990), so that there are probabilities,
            and families can be aligned.

        Raises
        ------
        DataError
            A matrix that is not known, or with `log_odds` has none; costs that are not finite.
        """
        if ends not in ("global", "semi-global"):
            raise DataError(f"ends={ends!r}: expected 'global' or 'semi-global'")
        if not (np.isfinite(gap_open) and np.isfinite(gap_extend)):
            raise DataError(f"found the gap costs {gap_open} and {gap_extend}, expected finite numbers")
        free = ends == "semi-global"
        alphabet, overhangs = alphabet_of(matrix), "one" if free else "both"
        loss = "log" if log_odds else "margin"
        aligner = cls(features="affine", overhangs=overhangs, loss=loss, alphabet=alphabet.name)
        structure = Alignment(aligner.features, aligner.overhangs, alphabet=alphabet.name)
        scores = read_matrix(matrix, alphabet)
        # scores of a matrix are log odds but for a factor; with it they have probabilities
        scale = log_odds_scale(scores, alphabet) if log_odds else 1.0
        aligner._import(scale * matrix_weights(structure.feature_set, scores, gap_open, gap_extend, free))
        aligner.alignment_ = structure
        return aligner

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        structure = self.alignment_
        features = structure.feature_set
        header = {
            "features": features.name,
            "overhangs": features.overhangs,
            "profile": features.profile,
            "secondary": features.secondary,
            "alphabet": features.alphabet.name,
        }
        return {"alignment": header}, pack_names("weight", structure.weight_names())

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> SequenceAligner:
        names = unpack_names("weight", arrays)
        types = {"features": str, "overhangs": str, "profile": int, "secondary": bool, "alphabet": str}
        options = entries(header["alignment"], **types)
        # or the names of all its weights may not fit in memory
        fits = options["profile"] ** 2 <= 2 * len(names)
        if not fits or (structure := Alignment(**options)).weight_names() != names:
            raise ModelFileError("the weights are those of another feature set")
        aligner = cls()
        aligner._unpack_fit(structure.n_weights, header, arrays)
        aligner.set_params(**{key: options[key] for key in ("features", "overhangs", "alphabet")})
        aligner.alignment_ = structure
        return aligner
