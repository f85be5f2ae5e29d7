"""Alignments of short sequences, written out, and their features from the definition, in plain Python."""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import scipy
from hypothesis import strategies as st

from laws import Problem
from structune import Protein
from structune.alignment.multiple import Matches, symmetric
from structune.alignment.structure.alignment import Alignment

RESIDUES = "ARNDCQEGHILKMFPSTWYV"
MAY_BE = {"B": "DN", "Z": "EQ", "J": "IL", "U": "C", "O": "K", "X": RESIDUES, "*": RESIDUES}
CLASSES = {
    "small": "AST",
    "cysteine": "C",
    "polar": "DENQ",
    "aromatic": "FWY",
    "glycine": "G",
    "basic": "HKR",
    "aliphatic": "ILMV",
    "proline": "P",
}
HYDROPHILIC = "DEGKNPQRS"
N_PROFILE = 2
STATES = {"H": "H", "G": "H", "E": "E", "B": "E", "C": "C", "T": "C", "-": "C", "X": "HEC"}


def alignments(n, m):
    """The partners of the residues of x in every alignment."""
    for k in range(min(n, m) + 1):
        for of_x in combinations(range(n), k):
            for of_y in combinations(range(m), k):
                partner = np.full(n, -1)
                partner[list(of_x)] = of_y
                yield partner


def shares(letter):
    may_be = MAY_BE.get(letter, letter)
    return {residue: 1 / len(may_be) for residue in may_be}


def class_shares(letter):
    return {
        name: sum(share for residue, share in shares(letter).items() if residue in members)
        for name, members in CLASSES.items()
    }


def products(found, group, order, left, right):
    """Products of shares; those of two kinds count together, whichever side each is on."""
    for a, share in left.items():
        for b, other in right.items():
            first, second = sorted((a, b), key=list(order).index)
            found[f"{group}: {first} {second}"] += share * other


def hydrophilic(sequence, place):
    """Of the three residues on either side of a place between two."""
    near = sequence[max(0, place - 3) : place + 3]
    return round(
        sum(share for letter in near for residue, share in shares(letter).items() if residue in HYDROPHILIC)
    )


def lengths(found, length, steps):
    for k in range(min(length, steps)):
        found[f"gap length: at least {k + 1}"] += 1
    found["gap length: further"] += max(0, length - steps)


def gap(found, sequence, residues, other, place):
    """What a gap of these residues at a place of the other sequence has beside its length."""
    if not len(residues):
        return
    for k in residues:
        for residue, share in shares(sequence[k]).items():
            found[f"gap residue: {residue}"] += share
        found[f"gap within: {hydrophilic(sequence, k)} hydrophilic"] += 1
        found[f"gap opposite: {hydrophilic(other, place)} hydrophilic"] += 1
    found[f"gap opens: {hydrophilic(sequence, residues[0])} hydrophilic"] += 1
    found[f"gap closes: {hydrophilic(sequence, residues[-1] + 1)} hydrophilic"] += 1
    found[f"gap opens opposite: {hydrophilic(other, place)} hydrophilic"] += 1


def terminal(found, sequence, residues):
    found["terminal gap: open"] += bool(residues)
    found["terminal gap: residue"] += len(residues)
    for k in residues:
        for residue, share in shares(sequence[k]).items():
            found[f"terminal residue: {residue}"] += share


def features(x, y, partner, full):
    found, steps = Counter(), 4 if full else 1
    matches = [(i, int(j)) for i, j in enumerate(partner) if j >= 0]
    for i, j in matches:
        products(found, "substitution", RESIDUES, shares(x[i]), shares(y[j]))
        for by in (-2, -1, 1, 2):
            if 0 <= i + by < len(x) and 0 <= j + by < len(y):
                near = class_shares(x[i + by]), class_shares(y[j + by])
                products(found, f"context {by:+d}", CLASSES, *near)
    for (i, j), (i2, j2) in pairwise(matches):
        in_x, in_y = range(i + 1, i2), range(j + 1, j2)
        lengths(found, len(in_x), steps)
        lengths(found, len(in_y), steps)
        gap(found, x, in_x, y, j + 1)
        gap(found, y, in_y, x, i2)
        found["gap both: between matches"] += bool(in_x) and bool(in_y)
    if matches:
        (i, j), (i2, j2) = matches[0], matches[-1]
        stretches = [(x, range(i)), (y, range(j)), (x, range(i2 + 1, len(x))), (y, range(j2 + 1, len(y)))]
        found["gap both: at an end"] = bool(i and j) + bool(stretches[2][1] and stretches[3][1])
    else:
        stretches = [(x, range(len(x))), (y, range(len(y)))]
    for sequence, residues in stretches:
        terminal(found, sequence, residues)
    return found


def states(letter):
    may_be = STATES[letter.upper()]
    return {state: 1 / len(may_be) for state in may_be}


def annotated_features(x, y, partner):
    """What annotation adds."""
    found = Counter()
    matches = [(i, int(j)) for i, j in enumerate(partner) if j >= 0]
    for i, j in matches:
        products(
            found, "profile", range(N_PROFILE), dict(enumerate(x.profile[i])), dict(enumerate(y.profile[j]))
        )
        products(found, "secondary", "HEC", states(x.secondary[i]), states(y.secondary[j]))
    for (i, j), (i2, j2) in pairwise(matches):
        for letter in x.secondary[i + 1 : i2] + y.secondary[j + 1 : j2]:
            for state, share in states(letter).items():
                found[f"secondary gap: {state}"] += share
    return found


def annotate(sequence, rng):
    secondary = "".join(rng.choice([*STATES, "h", "x"], len(sequence)))
    return Protein(sequence, rng.normal(size=(len(sequence), N_PROFILE)), secondary)


def rows_of(x, y, partner, known=None):
    """An alignment as two rows; if some matches alone are known, these in upper case."""
    a, b, j = "", "", 0
    for i, k in enumerate(partner):
        while k >= 0 and j < k:
            a, b, j = a + "-", b + y[j].lower(), j + 1
        upper = known is not None and known[i]
        if k >= 0:
            a, b, j = a + (x[i] if upper else x[i].lower()), b + (y[j] if upper else y[j].lower()), j + 1
        else:
            a, b = a + x[i].lower(), b + "."
    a, b = a + "-" * (len(y) - j), b + y[j:].lower()
    return (a.upper(), b.upper()) if known is None else (a, b)


def has_one_overhang(partner, m):
    i = np.flatnonzero(partner >= 0)
    if not i.size:
        return True
    return not (i[0] and partner[i[0]]) and not (i[-1] < partner.size - 1 and partner[i[-1]] < m - 1)


def in_band(partner, m, band):
    """Whether what is matched, and the corner between two matches, is near the line between both ends."""
    matches = [(i, j) for i, j in enumerate(partner.tolist()) if j >= 0]
    cells = [cell for i, j in matches for cell in ((i, j), (i + 1, j + 1))]
    cells += [(c, b + 1) for (_, b), (c, _) in pairwise(matches)]
    n = len(partner)
    return all(abs(j * n - i * m) <= band * max(n, m) for i, j in cells)


def problem_of(pairs, rng, scale=1.0, full=True, partial=False, overhangs="both", annotated=False, band=None):
    """The laws' problem: a random alignment of each pair; if `partial`, only some matches of it are known."""
    inputs = [(annotate(x, rng), annotate(y, rng)) for x, y in pairs] if annotated else pairs
    structure = Alignment("full" if full else "affine", overhangs, N_PROFILE * annotated, annotated, band)
    names = structure.weight_names()

    def definition(p, partner):
        found = features(*pairs[p], partner, full)
        if annotated:
            found.update(annotated_features(*inputs[p], partner))
        return found

    outputs = [
        [
            p
            for p in alignments(len(x), len(y))
            if (overhangs == "both" or has_one_overhang(p, len(y)))
            and (band is None or in_band(p, len(y), band))
        ]
        for x, y in pairs
    ]
    rows = [
        np.array(
            [[found[name] for name in names] for found in (definition(p, each) for each in every)], float
        )
        for p, every in enumerate(outputs)
    ]
    own = [int(rng.integers(len(every))) for every in outputs]
    known, given, costs, having, agree = [], [], [], [], []
    for k, ((x, y), every, chosen) in enumerate(zip(pairs, outputs, own, strict=True)):
        truth = every[chosen]
        is_partial = partial and bool(len(x) + len(y)) and (k == 0 or rng.random() < 0.7)
        known.append((truth >= 0) & (rng.random(len(x)) < 0.6) if is_partial else truth >= 0)
        given.append(rows_of(x, y, truth, known[-1] if is_partial else None))
        wrong = np.array([np.sum((p != truth) & known[-1]) for p in every])
        costs.append(wrong / max(1, known[-1].sum()))
        having.append(wrong == 0)
        agree.append(having[-1] if is_partial else np.arange(len(every)) == chosen)
    shard = structure.encode(inputs, given, rng.uniform(0.5, 2.0, len(pairs)))
    w, agree = scale * rng.normal(size=structure.n_weights), agree if shard.is_partly_known else None
    return Problem(structure, shard, w, outputs, rows, agree, own, costs, having)


@st.composite
def problems(draw, most=5, **options):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sequence = st.text(st.sampled_from([*RESIDUES, *"BZXU"]), max_size=most)
    pairs = draw(st.lists(st.tuples(sequence, sequence), min_size=1, max_size=3))
    return problem_of(pairs, rng, **options)


def most_of_matches(worth):
    """The highest sum of the cells of an alignment, of all there are."""
    n, m = worth.shape
    return max(
        sum(worth[i, j] for i, j in zip(rows, columns, strict=True))
        for k in range(min(n, m) + 1)
        for rows in combinations(range(n), k)
        for columns in combinations(range(m), k)
    )


def random_matches(rng, lengths, share=0.4):
    """A table of matches of sequences of these lengths, with so many of its cells."""
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    table = np.where(rng.random((offsets[-1],) * 2) < share, rng.uniform(0.05, 1.0, (offsets[-1],) * 2), 0.0)
    table *= sequence[:, None] < sequence
    compared = ~np.eye(len(offsets) - 1, dtype=bool)
    return Matches(offsets, symmetric(scipy.sparse.csr_array(table.astype(np.float32))), compared)
