"""Fits how sure `SequenceAligner.align` is of matches: four weights, printed.

    python training/family_confidence.py            ten minutes on two cores
    python training/family_confidence.py --quick    of every eighth set

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

Every other set of SABmark, by models of two folds, and every 32nd of PREFAB 4, by the model that ships, are
aligned, and two sequences of each set alone. A match of a residue whose match is known is right or wrong;
each set counts as much, and two alone half of that. ``benchmarks/multiple_alignment_confidence.py`` takes
others, though some sequences are in several sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from asking import asked_to_be_quick
from families import aligner_for, inputs, judged
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from structune.alignment import MultipleAlignment, ProteinAlignment, load_protein_alignments
from structune.alignment.multiple import features
from structune.running.executors import make_executor

SETS = {"sabre": slice(0, None, 2), "prefab4": slice(16, None, 32)}  # the benchmark's are 1::2 and 0::32
TWO_ALONE = 0.5

Matches = tuple[NDArray[np.float64], NDArray[np.bool_]]  # features, and whether they are right


def main() -> None:
    every = 8 if asked_to_be_quick(__doc__) else 1
    found = []
    for name, chosen in SETS.items():
        sets = list(inputs(name).items())[chosen][::every]
        for share, n_most in ((1.0, None), (TWO_ALONE, 2)):
            some = list(matches(name, sets, n_most))
            print(f"{name}, {'all' if n_most is None else n_most} sequences: {len(some)} sets", flush=True)
            found += [(x, right, share / len(some) / right.size) for x, right in some if right.size]
    weight = np.concatenate([np.full(right.size, w) for _, right, w in found])
    model = LogisticRegression(C=1e4, fit_intercept=False, tol=1e-8, max_iter=1000)
    model.fit(
        np.concatenate([x for x, _, _ in found]),
        np.concatenate([right for _, right, _ in found]),
        weight / weight.mean(),
    )
    print(np.round(model.coef_[0], 2).tolist())


def matches(name: str, sets: list[tuple[str, dict[str, str]]], n_most: int | None) -> Iterator[Matches]:
    """Of each set, aligned; or of so many of its sequences that are in the reference."""
    references = load_protein_alignments(name)
    for key, sequences in sets:
        reference, names = references[key], list(sequences)
        if n_most is not None:
            chosen = np.random.default_rng(0).permutation(len(reference.names))[:n_most]
            names = [reference.names[k] for k in sorted(chosen.tolist())]
        family = aligner_for(name, key).align([sequences[n] for n in names])
        yield of_family(reference, names, family)


def of_family(reference: ProteinAlignment, names: list[str], family: MultipleAlignment) -> Matches:
    found, number = ProteinAlignment(names, family.rows), {name: k for k, name in enumerate(names)}
    agreeing = family.matches.consistent(family.matches.accuracies, make_executor(1))
    consistent = replace(family, matches=agreeing)
    x, right = [np.empty((0, 4))], [np.empty(0, bool)]
    for a, b in combinations([k for k, name in enumerate(reference.names) if name in number], 2):
        match = judged(reference, found, a, b)
        both = number[reference.names[a]], number[reference.names[b]]
        values = (one.probabilities(*both)[match.i, match.j] for one in (family, consistent))
        x.append(features(*values, len(names)))
        right.append(match.right)
    return np.concatenate(x), np.concatenate(right)


if __name__ == "__main__":
    main()
