"""The aligner of pairs and families of sequences, with the interface of scikit-learn."""

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
    """An alignment of two sequences with the probabilities of its matches.

    ``rows`` are the two rows, with ``-`` for gaps. ``confidence``, shape (n_columns,), is the probability of
    the match in each column, nan at gaps. ``posterior``, shape (n, m) for sequences of n and m residues, has
    the probability of each match; it is None unless `predict_confidence` was called with posteriors=True.
    """

    rows: tuple[str, str]
    confidence: FloatArray
    posterior: FloatArray | None


@parameters
class SequenceAligner(BlockEstimator):
    """Align pairs and families of proteins, DNA or RNA by a trainable log-linear model.

    Parameters
    ----------
    loss : {"log", "margin", "ramp", "equivalent"}, or a loss
        Loss function that training minimizes. "log": the negative log-probability of the known part of each
        alignment. The others are upper bounds on the share of known matches that a prediction misses.
        "margin" compares the best alignment with the reference and is convex. "equivalent" compares it with
        the best alignment that has all known matches. "ramp" compares the best alignment with and without the
        cost of its missed matches.
    groups : {"kind", "single", "separate"} or callable
        Groups of weights that share a regularization strength. "kind": one group per type of feature
        (substitutions, neighbors at each distance, lengths of gaps, ...). "single": one group for all
        weights. "separate": one group per weight. A callable takes the name of a weight and returns the name
        of its group.
    gamma : float
        Value of a correct match in predictions, relative to two residues correctly left unmatched. Higher
        values give more matches. With infinity, only matches count.
    features : {"full", "affine"}
        Set of features. "affine": substitutions, affine gaps, terminal gaps. "full": also the classes of the
        residues around a match, the residues in gaps, lengths of gaps, and how hydrophilic the sequences are
        around a gap.
    overhangs : {"both", "one"}
        Whether both sequences may have unmatched residues at the same end of the alignment, or only one.
    center : str, optional
        Substitution matrix of Biopython, such as "BLOSUM62", to shrink the weights towards; by default, they
        are shrunk towards zero. Its scores become log odds, with gap costs of 11 (first residue) and 1 (each
        further one) and free ends. A center helps if there are few alignments, and needs ``loss="log"``.
    band : int, optional
        Largest distance of an alignment from the diagonal, in residues of the longer sequence; no limit by
        default. A band applies to fits and predictions. It saves time and memory for long sequences that are
        similar from end to end.
    alphabet : {"protein", "nucleotide"}
        Alphabet of the sequences: amino acids, or the bases of DNA or RNA with their ambiguity codes.

    Attributes
    ----------
    alignment_ : Alignment
        The structured model: its features, groups of weights and inference.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results of every fit: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    The model is that of Do, Gross & Batzoglou (2006). Weights for lengths of gaps replace its second pair of
    gap states, so that every alignment is scored once. If a reference has residues in lower case, only its
    columns of two upper-case residues are known; "log" then sums over all alignments with these matches.

    Examples
    --------
    >>> from structune import SequenceAligner
    >>> pairs = [("HEAGAWGHEE", "PAWHEAE"), ("GAWGHE", "AWHE")]
    >>> rows = [("HEAGAWGHE-E", "---PAW-HEAE"), ("GAWGHE", "-AW-HE")]
    >>> aligner = SequenceAligner(penalty=0.1).fit(pairs, rows)
    >>> aligner.predict([("AGAWGHE", "PAWHE")])
    [('AGAWGHE', '-PAW-HE')]

    With secondary structures (or profiles), which all sequences must then have:

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
        """Fit the model to pairs with reference alignments.

        Parameters
        ----------
        X : list of pairs of str or Protein
            Sequences in one-letter code, of either case. B, Z and J count as the two residues that they may
            be, U as C, O as K, X and * as any. A `Protein` may also have a profile (with the same number of
            columns in all sequences) or a secondary structure. The model uses them if all sequences have
            them; it then needs them in predictions, too.
        y : list of pairs of str
            Alignment of each pair as two rows, with ``-`` or ``.`` for gaps. If any residue of a pair is in
            lower case, only the matches of two residues in upper case are known.
        sample_weight : array-like, shape (n_pairs,), optional
            Weight of each pair; 1 by default.
        groups : array-like, shape (n_pairs,), optional
            Group of each pair, such as its family. Pairs of one group are never split between training and
            held-out data.

        Raises
        ------
        DataError
            There are no pairs, a pair cannot be used (the message gives its index), no match is known, or
            `loss` or `center` cannot be used with these alignments.
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
            raise DataError("the training set is empty: fit needs at least one pair")
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
            raise DataError("the alignments have no known match: no column has two residues in upper case")
        if loss.name == "margin" and any(shard.is_partly_known for shard in shards):
            raise DataError(
                "some alignments are only partly known (they have residues in lower case), which "
                "loss='margin' cannot use: use loss='equivalent'"
            )
        if self.center is not None and not loss.smooth:
            raise DataError(f"center={self.center!r} needs loss='log', but loss is {loss.name!r}")

    def _origin(self, structure: Any) -> FloatArray | None:
        return None if self.center is None else log_odds(structure.feature_set, self.center)

    @property
    def _structure(self) -> Alignment:
        return self.alignment_.with_band(self.band)

    # --- prediction ---------------------------------------------------------------------------------------

    def memory_of(self, n: int, m: int, keep: bool = False) -> float:
        """Estimate the memory, in bytes, to align sequences of n and m residues.

        With `keep`, the probabilities of all matches are included, which `posterior` stores.
        """
        return self._structure.memory_of(checked_length(n), checked_length(m, "m"), keep)

    def predict(self, X: Pairs, gamma: float | None = None) -> list[tuple[str, str]]:
        """Align each pair, and return it as two rows with ``-`` for gaps.

        The result is the alignment of maximum expected accuracy (MEA). A model that was not fitted with the
        log loss has no probabilities; its result is the alignment with the highest score.

        Parameters
        ----------
        X : list of pairs of str or Protein
            Pairs of sequences, as in `fit`.
        gamma : float, optional
            Value of a correct match, instead of the constructor's `gamma`.
        """
        chosen = self._checked_gamma(gamma, self.has_probabilities)
        if not self.has_probabilities:
            return self.predict_viterbi(X)
        return self._rows(X, lambda part: self._structure.best_accuracy(self.coef_, part, chosen))

    def predict_viterbi(self, X: Pairs) -> list[tuple[str, str]]:
        """Align each pair by its most probable alignment, the one of the highest score (Viterbi)."""
        return self._rows(X, lambda part: self._structure.best(self.coef_, part)[0])

    def predict_confidence(
        self, X: Pairs, gamma: float | None = None, method: str = "mea", posteriors: bool = False
    ) -> list[ConfidentAlignment]:
        """Align each pair, and compute the probability of each match.

        Parameters
        ----------
        X : list of pairs of str or Protein
            Pairs of sequences, as in `fit`.
        gamma : float, optional
            Value of a correct match, instead of the constructor's `gamma`; for "mea" only.
        method : {"mea", "viterbi"}
            "mea" aligns as `predict` does, "viterbi" as `predict_viterbi` does.
        posteriors : bool
            Whether the result has the probabilities of all matches of two residues, too.

        Raises
        ------
        CapabilityError
            The model was not fitted by log loss.
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
        """Compute the probability of each match of a residue of x with one of y, shape (n, m).

        Raises
        ------
        CapabilityError
            The model was not fitted by log loss.
        """
        self._require_probabilities()
        self._check_fitted()
        return self._structure.posterior(self.coef_, self._structure.encode([(x, y)]), 0)

    def log_loss(self, X: Pairs, y: Rows) -> FloatArray:
        """Compute the negative log-probability of the known part of each alignment, shape (n_pairs,).

        Raises
        ------
        CapabilityError
            The model was not fitted by log loss.
        """
        self._require_probabilities()
        self._check_fitted()
        structure, w = self._structure, self.coef_

        def loss(part: AlignmentShard) -> FloatArray:
            whole, known = (structure.log_partition(w, part, within=within) for within in (False, True))
            return np.asarray(whole - known)

        return np.array(self._each(structure.encode(as_list(X, "pairs"), as_list(y, "alignments")), loss))

    def score(self, X: Pairs, y: Rows) -> float:
        """Compute the share of known matches that `predict` finds (Q), as a mean over pairs."""
        found = alignment_scores(list(y), self.predict(X)).recall
        if not found.size:
            raise DataError("there are no pairs to score")
        return float(found.mean())

    def _checked_gamma(self, given: float | None, is_used: bool) -> float:
        """The given gamma, or that of the constructor; infinite if it is larger than a double can be."""
        if given is not None and not is_used:
            raise DataError(
                f"gamma={given!r}: gamma has no effect with method='viterbi' or without probabilities"
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
        """Align a family of any number of sequences (multiple alignment).

        Parameters
        ----------
        sequences : sequence of str or Protein
            The sequences, in any order: the order does not change the alignment.
        consistency : int
            Number of rounds in which the match probabilities are made consistent with third sequences.
        refinements : int
            Largest number of refinement rounds. Each round splits the alignment at every edge of the guide
            tree, and realigns both parts to raise the sum of match values.
        matrix : str, optional
            Substitution matrix of Biopython. Its match probabilities are averaged with those of the model,
            because the model may underrate the matches of close homologues. "auto" means BLOSUM62 for trained
            models of proteins, and no matrix for other models. None uses the model alone.
        all_pairs : int
            Largest number of sequences for which all pairs are compared. For more sequences, a guide
            tree from shared 6-mers (for proteins, of residue classes) chooses the pairs: at most eight
            sequences from each side of each merge.
        progress : function of int, optional
            Called with the number of sequences that were compared since the last call.

        Raises
        ------
        DataError
            There are no sequences, the matrix is unknown, a number is below 0 or not whole, or a sequence
            cannot be used; the message then gives its index.
        CapabilityError
            The model was not fitted by log loss.

        Notes
        -----
        The algorithm is that of ProbCons (Do, Mahabhashyam, Brudno & Batzoglou 2005). It computes the match
        probabilities of pairs, makes them consistent, and aligns groups along a guide tree for the highest
        sum of match values. Unlike in ProbCons, third sequences are weighted by the expected accuracies of
        their alignments with both sequences. Match probabilities of at least 0.01 take memory, up to 145
        bytes each. A residue has a few of them for each sequence that it is compared with.

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
            raise DataError("there are no sequences to align: give at least one")
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
        """Load the pretrained protein model, which was trained on remote homologues (SABmark).

        It assumes that the proteins are related: it also aligns unrelated ones, without a warning.

        Raises
        ------
        ModelFileError
            The installation lacks the model file.
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
        """Make an aligner from a substitution matrix and affine gap costs, without training.

        Without `log_odds`, the aligner has scores but no probabilities. `predict` is then the algorithm of
        Needleman & Wunsch (1970), with the affine gaps of Gotoh (1982). Ambiguous letters such as B, Z and X
        score as the mean of the residues that they may be; their own rows of the matrix are not used. A
        matrix of nucleotides makes an aligner of nucleotides.

        Parameters
        ----------
        matrix : str
            Name of a substitution matrix of Biopython, such as "BLOSUM62", "PAM250" or "NUC.4.4".
        gap_open, gap_extend : float
            Cost of the first residue of a gap, and of each further one.
        ends : {"global", "semi-global"}
            "global": gaps at the ends cost as much as others. "semi-global": they are free, at each end in
            one of the two sequences only.
        log_odds : bool
            Scale the scores to log odds (Karlin & Altschul 1990). The aligner then has probabilities, and can
            align families.

        Raises
        ------
        DataError
            The matrix or `ends` is unknown; a gap cost is not finite; or, with `log_odds`, the scores of the
            matrix are not log odds.
        """
        if ends not in ("global", "semi-global"):
            raise DataError(f"ends={ends!r}: expected 'global' or 'semi-global'")
        if not (np.isfinite(gap_open) and np.isfinite(gap_extend)):
            raise DataError(f"the gap costs must be finite numbers, not {gap_open} and {gap_extend}")
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
            raise ModelFileError("the names of the weights do not match the feature set of the file")
        aligner = cls()
        aligner._unpack_fit(structure.n_weights, header, arrays)
        aligner.set_params(**{key: options[key] for key in ("features", "overhangs", "alphabet")})
        aligner.alignment_ = structure
        return aligner
