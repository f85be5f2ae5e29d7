"""The method of `SequenceAligner` that aligns families."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from structune.alignment.multiple.alignment import MultipleAlignment, align
from structune.alignment.multiple.compared import every_pair, pairs_along, word_tree
from structune.alignment.multiple.pairs import match_probabilities
from structune.alignment.structure.alignment import Alignment
from structune.alignment.structure.alphabets import PROTEIN, warn_of_nucleotides
from structune.alignment.structure.matrices import log_odds
from structune.alignment.structure.proteins import Protein, as_protein
from structune.alignment.structure.space import warn_of_narrow_band
from structune.errors import DataError
from structune.files.inputs import as_list
from structune.learning.estimator import StructuredEstimator
from structune.running.executors import make_executor

_STANDING = 8  # sequences that stand for a side of a merge


class AlignsFamilies(StructuredEstimator):
    """An estimator of alignments of two that can align many."""

    @property
    def _structure(self) -> Alignment:
        raise NotImplementedError

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
            A matrix of Biopython: probabilities are the means of those of the model and of this matrix, with
            its scores and those of affine gaps as log odds. A model that was learned from remote homologues
            makes too little of what close ones have in common. "auto" for BLOSUM62 with models of proteins
            that were learned, and none with others; None for the model alone.
        all_pairs : int
            Up to so many sequences any two are compared. Of more, a tree of the words that they share tells
            which: at each of its merges at most eight sequences of either side.
        progress : function of int, optional
            Called with the number of sequences that were compared since the last call.

        Returns
        -------
        MultipleAlignment
            With ``rows``, in the order of the sequences; ``confidence`` of each column; the guide ``tree``.

        Raises
        ------
        DataError
            No sequences, a character that is no residue, a matrix that is not known, or a number that is no
            whole one. Names the sequence.
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
        order = sorted(range(len(proteins)), key=lambda k: proteins[k].residues)  # theirs is of no account
        structure, executor = self._structure, make_executor(self.n_jobs)
        described = [structure.describe(proteins[k], f"sequence {k} (from 0)") for k in order]
        features = structure.feature_set
        if matrix == "auto":
            is_learned = self.status_ != "imported"
            matrix = "BLOSUM62" if is_learned and features.alphabet is PROTEIN else None
        weights = [self.coef_] if matrix is None else [self.coef_, log_odds(features, matrix)]
        residues = [proteins[k].residues for k in order]
        warn_of_nucleotides(features.alphabet, residues)
        tree = word_tree(residues, features.alphabet.words) if len(residues) > all_pairs else None
        compared = every_pair(len(residues)) if tree is None else pairs_along(tree, _STANDING)
        tell = progress or (lambda _: None)
        found = match_probabilities(structure, weights, described, compared, executor, tell)
        if structure.band is not None and found.may_need_more_than(structure.band):
            warn_of_narrow_band(structure.band)
        family = align(residues, found, tree, consistency, refinements, executor)
        return family.reordered(np.argsort(order))
