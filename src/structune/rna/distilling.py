"""Train a folder to score structures as a teacher does, such as energies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from numbers import Real

import numpy as np
import scipy

from structune.errors import DataError
from structune.rna.folder import RNAFolder
from structune.rna.formats.brackets import STRANDS
from structune.rna.inputs import checked_number, checked_strings
from structune.structure import FloatArray, offsets_of

Teacher = Callable[[str, str], float]
_SHARPNESS = 1.0, 0.5  # of the weights, where structures are drawn: also such as are seldom
_DRAWN = 12  # structures of a sequence at each
_PRECISION = 3.0  # of weights


def distill(
    teacher: Teacher, X: Sequence[str], start: RNAFolder | None = None, rounds: int = 3, random_state: int = 0
) -> RNAFolder:
    """Train a folder whose log odds of structures approximate the scores of a teacher.

    Each round samples structures from the current model, and fits the weights to the teacher's scores of
    them, by least squares of score differences within a sequence.

    Parameters
    ----------
    teacher : callable
        Function of a sequence and a structure in dot-bracket notation that returns a score: the log odds of
        the structure, up to a constant per sequence; not finite for a structure that is impossible for the
        teacher. An example is `Energies.score`.
    X : list of str
        Sequences, as diverse as possible. A few hundred of 50 to 150 bases determine all but rare weights.
    start : RNAFolder, optional
        Model to start from, by default the pretrained one. The result has its features.
    rounds : int
        Number of rounds. Little changes after the second.
    random_state : int
        Random seed of the samples.

    Returns
    -------
    RNAFolder

    Raises
    ------
    DataError
        A sequence has two strands, or the teacher returns no number, or no finite score for any structure.

    Examples
    --------
    >>> from structune.rna import distill
    >>> def teacher(sequence, structure):
    ...     return 2.0 * structure.count("(") - 4.0 * structure.count("(.")
    >>> folder = distill(teacher, ["GGGGAAAACCCC", "GGCAAGCAAAAGCAAGCC"], rounds=1)
    >>> folder.predict(["GGGGAAAACCCC"])
    ['((((....))))']
    """
    if not callable(teacher):
        raise DataError(
            f"teacher={teacher!r:.60}: expected a function of a sequence and a structure, such as "
            "read_energies(path).score"
        )
    sequences = checked_strings(X, "sequence")
    if two := [s for s, sequence in enumerate(sequences) if STRANDS in sequence]:
        raise DataError(f"sequence {two[0]}: distill does not support two strands")
    rounds = checked_number(rounds, "rounds")
    folder = deepcopy(RNAFolder.pretrained() if start is None else start)
    folder._check_fitted()
    n = folder.rna_.n_weights
    # Normal equations of ridge regression, (X'X + precision I) w = X'y, summed over the rounds: structures of
    # earlier rounds still count. Means of each sequence are taken off, for a teacher's constant is unknown.
    gram, target = _PRECISION * np.eye(n), np.zeros(n)
    for seed in np.random.SeedSequence(random_state).spawn(rounds):
        rng = np.random.default_rng(seed)
        found = [["." * len(sequence)] for sequence in sequences]  # that without pairs is among them
        # Structures are drawn by the model and by a flatter one, so that weights of rare loops are learned as
        # well.
        for sharpness in _SHARPNESS:
            tempered = deepcopy(folder)
            tempered._import(sharpness * folder.coef_)
            for own, more in zip(found, tempered.sample(sequences, _DRAWN, rng), strict=True):
                own += more
        drawn = [list(dict.fromkeys(structures)) for structures in found]
        more_gram, more_target = _moments(folder, teacher, sequences, drawn)
        gram += more_gram
        target += more_target
        folder._import(scipy.linalg.solve(gram, target, assume_a="pos"))
    return folder


def _moments(
    folder: RNAFolder, teacher: Teacher, sequences: list[str], structures: list[list[str]]
) -> tuple[FloatArray, FloatArray]:
    """Of features, and of features and scores, as deviations from the means of each sequence."""
    kept, scores, sizes = list[tuple[str, str]](), list[float](), list[int]()
    for sequence, own in zip(sequences, structures, strict=True):
        given = [(structure, teacher(sequence, structure)) for structure in own]
        for _, score in given:
            if not isinstance(score, Real):
                raise DataError(f"the teacher returned the score {score!r}, which is not a number")
        finite = [(structure, score) for structure, score in given if np.isfinite(score)]
        kept += [(sequence, structure) for structure, _ in finite]
        scores += [float(score) for _, score in finite]
        sizes.append(len(finite))
    if not kept:
        raise DataError("the teacher returned no finite score for any structure; check its parameters")
    rna = folder.rna_
    rows = rna.feature_rows(rna.encode(*map(list, zip(*kept, strict=True))))
    # the matrix that adds up runs of rows, those of a sequence each
    runs, total = offsets_of(np.array(sizes, np.int64)), len(kept)
    sums = scipy.sparse.csr_array((np.ones(total), np.arange(total), runs), shape=(len(sizes), total))
    n = np.maximum(sizes, 1)
    means, mean_scores = scipy.sparse.diags_array(1.0 / n) @ (sums @ rows), (sums @ np.array(scores)) / n
    # Sum of (x - mean)(x - mean)' = X'X - sum over sequences of n mean mean', without a dense matrix of rows.
    gram = (rows.T @ rows - means.T @ (scipy.sparse.diags_array(1.0 * n) @ means)).toarray()
    return gram, rows.T @ np.array(scores) - means.T @ (n * mean_scores)
