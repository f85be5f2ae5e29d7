"""What a folder tells of sequences: structures, probabilities, samples, losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.inputs import as_list, checked_length
from structune.learning.estimator import StructuredEstimator
from structune.rna.consensus import consensus
from structune.rna.defaults import CONSENSUS_THRESHOLD
from structune.rna.folder_space import fit_into_space
from structune.rna.inputs import (
    Draws,
    Structures,
    checked_decoding,
    checked_gamma,
    checked_gammas,
    checked_number,
    checked_outputs,
    checked_range,
    checked_strings,
    checked_threshold,
    symmetric,
)
from structune.rna.judgement import Judgement, expected_accuracy
from structune.rna.metrics import base_pair_scores
from structune.rna.pseudoknots import knotted
from structune.rna.structure.rna import RNA
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import dot_brackets
from structune.rna.structure.sums import OF_KNOTS, OF_SUMS
from structune.running.executors import make_executor
from structune.running.memory import require_memory
from structune.structure import FloatArray


class RNAPredictions(StructuredEstimator):
    """The predictions of `RNAFolder`."""

    gamma: float
    decoding: str
    max_span: int | None
    circular: bool
    initiation: float
    rna_: RNA

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
            Whether there are constraints or evidence: pairs then have scores of their own.
        """
        return self._structure.memory_of(checked_length(n), n_tables, weighted)

    def predict(
        self, X: Any, gamma: float | None = None, constraints: Any = None, lonely_pairs: bool = True
    ) -> list[str]:
        """The structure of each sequence that is expected to be most right, in dot-bracket notation.

        Of maximum expected accuracy or a gamma-centroid, as `decoding` says. Of a model that was not fitted
        by log loss, whose scores give no probabilities, the structure of the highest score; `gamma` is of no
        account then.

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
        decoding = checked_decoding(self.decoding)
        return self._predict_accurate(X, gammas, constraints, lonely_pairs, decoding)

    def predict_mea(
        self, X: Any, gammas: Iterable[float], constraints: Any = None, lonely_pairs: bool = True
    ) -> list[list[str]]:
        """Structures of maximum expected accuracy for each of `gammas`, whatever `decoding` is."""
        return self._predict_accurate(X, gammas, constraints, lonely_pairs, "mea")

    def _predict_accurate(
        self, X: Any, gammas: Iterable[float], constraints: Any, lonely_pairs: bool, decoding: str
    ) -> list[list[str]]:
        self._require_probabilities()
        if not lonely_pairs:
            self._refuse_circles("structures without lonely pairs")
        shard, gammas = self._encode(X, constraints), checked_gammas(gammas)

        def fold(part: RNAShard) -> list[tuple[str, ...]]:
            found = self._structure.best_mea(self.coef_, part, gammas, lonely_pairs, decoding)
            return list(
                zip(*(dot_brackets(partners, part.letters, part.offsets) for partners in found), strict=True)
            )

        rows = self._each(shard, fold)
        return [[row[k] for row in rows] for k in range(len(gammas))]

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
        See ``structune.rna.pseudoknots``. The model's probabilities are those of nested pairs, so that those
        of a second layer are low: with more pairs found, about as many of all found are right.
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
        """One structure of aligned sequences, a character a column.

        The nested pairs of columns of the greatest sum of probability - `threshold`. Probabilities are the
        means of those of the sequences, of which covariation raises the log odds; bases opposite to gaps pair
        with none. See `structune.rna.consensus`.

        Parameters
        ----------
        rows : list of str
            Sequences of one family with ``-`` for gaps, all of one length.
        threshold : float
        """
        self._require_probabilities()
        given = checked_strings(rows, "row")
        return consensus(self.pair_probabilities, given, threshold, self.n_jobs).structure

    def predict_viterbi(self, X: Any, constraints: Any = None) -> list[str]:
        """The most probable structure of each sequence."""

        def fold(part: RNAShard) -> list[str]:
            partners, _ = self._structure.best(self.coef_, part)
            return dot_brackets(partners, part.letters, part.offsets)

        return self._each(self._encode(X, constraints), fold)

    def predict_centroid(self, X: Any, threshold: float = 0.5, constraints: Any = None) -> list[str]:
        """For each sequence the nested pairs of the greatest sum of probability - `threshold`.

        At 0.5 these are all pairs of a probability above it: the centroid of all structures.
        """
        self._require_probabilities()
        checked_threshold(threshold)

        def fold(part: RNAShard) -> list[str]:
            partners = self._structure.best_centroid(self.coef_, part, threshold)
            return dot_brackets(partners, part.letters, part.offsets)

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
        found = self._ranked(X, n, constraints, within)
        return [list(zip(structures, p.tolist(), strict=True)) for structures, p in found]

    def _ranked(self, X: Any, n: int, constraints: Any, within: float) -> list[tuple[Structures, FloatArray]]:
        """The most probable structures of each sequence, and their probabilities."""
        self._require_probabilities()
        n, within = checked_number(n), checked_range(within)

        def fold(part: RNAShard) -> list[tuple[Structures, FloatArray]]:
            log_z = self._structure.log_partition(self.coef_, part)
            found = self._structure.n_best(self.coef_, part, n, within)
            letters = np.split(part.letters, part.offsets[1:-1])
            return [
                (Structures(partners, own), np.exp(scores - z))
                for (partners, scores), z, own in zip(found, log_z, letters, strict=True)
            ]

        return self._each(self._encode(X, constraints), fold)

    def sample(
        self, X: Any, n: int = 1, random_state: Any = None, constraints: Any = None
    ) -> list[list[str]]:
        """For each sequence `n` structures, drawn with their probabilities.

        Parameters
        ----------
        random_state : int or numpy.random.Generator, optional
            Not that of the constructor. With one seed a sequence always has the same samples, whatever others
            are beside it, and those of ``structune fold --samples --seed``; the same sequence a second time
            has others.
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
            What is known of its structure.
        """
        self._require_probabilities()
        shard = self._encode([sequence], None if constraints is None else [constraints])
        return symmetric(self._structure.pair_probabilities(self.coef_, shard, 0))

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
        probability times exp(score by the evidence); evidence that no structure agrees with is an error.
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
            Sequences and structures. Those outside the model's space have probability 0, but their pairs have
            one.
        """
        sequences, structures = checked_strings(X, "sequence"), checked_strings(y, "structure")
        if len(sequences) != len(structures):
            raise DataError(f"found {len(structures)} structures for {len(sequences)} sequences")

        def of_one(s: int) -> Judgement:
            try:
                return self._judged(sequences[s], structures[s])
            except DataError as error:
                raise DataError(str(error).replace("sequence 0", f"sequence {s}", 1)) from None

        return list(make_executor(self.n_jobs).map(of_one, range(len(sequences))))

    def _judged(self, sequence: str, structure: str) -> Judgement:
        """Of one structure, which may have pseudoknots: then it has no probability, but its pairs have."""
        loss = float(self.log_loss([sequence], [structure])[0])
        log_odds = -np.inf if np.isinf(loss) else self._log_odds(sequence, structure)
        expected = expected_accuracy(structure, self.pair_probabilities(sequence))
        return Judgement(min(0.0, -loss), log_odds, *expected)

    def _log_odds(self, sequence: str, structure: str) -> float:
        """Against the most probable structure; 0 where only the order of sums differs."""
        rna, w = self._structure, self.coef_
        shard = rna.encode([sequence], [structure])
        score, best = float(rna.score(w, shard)[0]), float(rna.best(w, shard)[1][0])
        return 0.0 if np.isclose(score, best, rtol=1e-12, atol=1e-9) else min(0.0, score - best)

    def score(self, X: Any, y: Any) -> float:
        """F1 of the base pairs that `predict` finds, pooled over sequences.

        Parameters
        ----------
        y : list of str
            Structures in dot-bracket notation; pseudoknots count, though none is ever predicted.
        """
        return float(base_pair_scores(checked_strings(y, "structure"), self.predict(X)).pooled.f1)

    def _refuse_circles(self, what: str) -> None:
        if self.circular:
            raise DataError(f"found circular=True, expected linear sequences for {what}")

    def _encode(self, X: Any, constraints: Any) -> RNAShard:
        self._check_fitted()
        given = None if constraints is None else as_list(constraints, "constraints")
        return self._structure.encode(checked_strings(X, "sequence"), constraints=given)
