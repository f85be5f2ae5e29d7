"""RNA structures of short sequences, written out, and their features from the definition, in plain Python."""

from collections import Counter

import numpy as np
from hypothesis import strategies as st

from laws import Problem
from structune.structures.rna import RNA

CANONICAL = {"AU", "UA", "CG", "GC", "GU", "UG"}


def structures(sequence, min_hairpin):
    """All nested sets of canonical pairs, as partner lists."""

    def over(i, j):
        if i > j:
            return [()]
        found = list(over(i + 1, j))
        for k in range(i + min_hairpin + 1, j + 1):
            if sequence[i] + sequence[k] in CANONICAL:
                inner = over(i + 1, k - 1)
                found += [((i, k), *a, *b) for a in inner for b in over(k + 1, j)]
        return found

    result = []
    for pairs in over(0, len(sequence) - 1):
        partner = [-1] * len(sequence)
        for i, j in pairs:
            partner[i], partner[j] = j, i
        result.append(partner)
    return result


def features(sequence, partner):
    """Number of times that each named feature occurs."""
    found, n = Counter(), len(sequence)

    def at(k):
        return sequence[k] if 0 <= k < n and sequence[k] in "ACGU" else None

    def unordered(a, b):
        return "".join(sorted(a + b))

    def junction_a(a, b):
        found[f"helix_closing_{at(a)}{at(b)}"] += 1
        if at(a + 1):
            found[f"dangle_left_{at(a)}{at(b)}{at(a + 1)}"] += 1
        if at(b - 1):
            found[f"dangle_right_{at(a)}{at(b)}{at(b - 1)}"] += 1

    def junction_b(a, b):
        found[f"helix_closing_{at(a)}{at(b)}"] += 1
        if at(a + 1) and at(b - 1):
            found[f"terminal_mismatch_{at(a)}{at(b)}{at(a + 1)}{at(b - 1)}"] += 1

    def up_to(name, first, last):
        found.update(f"{name}_at_least_{k}" for k in range(first, last + 1))

    def branches(first, last):
        pairs, unpaired, k = [], 0, first
        while k < last:
            if partner[k] > k:
                pairs.append((k, partner[k]))
                k = partner[k]
            else:
                unpaired += 1
            k += 1
        return pairs, unpaired

    def internal(i, j, p, q):
        l1, l2 = p - i - 1, j - q - 1
        if l1 == l2 == 0:
            word = at(i) + at(j) + at(p) + at(q)
            found["helix_stacking_" + min(word, word[::-1])] += 1
            return
        junction_b(i, j)
        junction_b(q, p)
        if l1 == 0 or l2 == 0:
            up_to("bulge_length", 1, l1 + l2)
            if l1 + l2 == 1:
                base = at(i + 1) if l1 else at(j - 1)
                if base:
                    found[f"bulge_0x1_nucleotides_{base}"] += 1
            return
        up_to("internal_length", 2, l1 + l2)
        up_to("internal_asymmetry", 1, min(abs(l1 - l2), 28))
        if l1 == l2:
            up_to("internal_symmetric_length", 1, min(l1, 15))
        if max(l1, l2) <= 4:
            found[f"internal_explicit_{min(l1, l2)}_{max(l1, l2)}"] += 1
        if l1 == l2 == 1 and at(i + 1) and at(j - 1):
            found[f"internal_1x1_nucleotides_{unordered(at(i + 1), at(j - 1))}"] += 1

    for i, j in enumerate(partner):
        if j < i:
            continue
        found[f"base_pair_{unordered(at(i), at(j))}"] += 1
        pairs, unpaired = branches(i + 1, j)
        if not pairs:
            junction_b(i, j)
            up_to("hairpin_length", 0, min(unpaired, 30))
        elif len(pairs) == 1:
            internal(i, j, *pairs[0])
        else:
            found["multi_base"] += 1
            found["multi_paired"] += 1 + len(pairs)
            found["multi_unpaired"] += unpaired
            junction_a(i, j)
            for p, q in pairs:
                junction_a(q, p)
    pairs, unpaired = branches(0, n)
    found["external_unpaired"] += unpaired
    found["external_paired"] += len(pairs)
    for p, q in pairs:
        junction_a(q, p)
    return found


def feature_vector(names, sequence, partner):
    counts = features(sequence, partner)
    assert set(counts) <= set(names), set(counts) - set(names)
    return np.array([float(counts[name]) for name in names])


def missed(truth, partner):
    """Share of the paired bases whose partner is another, or none."""
    paired = [i for i, j in enumerate(truth) if j >= 0]
    return sum(partner[i] != truth[i] for i in paired) / max(1, len(paired))


def partners(structure):
    """Partners of the bases of a dot-bracket string."""
    found, opened = [-1] * len(structure), []
    for j, character in enumerate(structure):
        if character == "(":
            opened.append(j)
        elif character == ")":
            found[j] = opened.pop()
            found[found[j]] = j
    return found


def dot_bracket(partner):
    return "".join("." if j < 0 else "(" if j > i else ")" for i, j in enumerate(partner))


@st.composite
def problems(draw, max_length=13, scale=1.0):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    min_hairpin = draw(st.sampled_from([0, 1, 3]))
    structure, letters = RNA(min_hairpin), draw(st.sampled_from(["ACGU", "GC", "GCGCGCGCAUN"]))
    sequences = []
    for length in draw(st.lists(st.integers(0, max_length), min_size=1, max_size=3)):
        shorter = min(length, 7 + 2 * min_hairpin)  # the number of structures explodes
        sequences.append("".join(rng.choice(list(letters), shorter)))
    names = structure.weight_names()
    outputs = [structures(sequence, min_hairpin) for sequence in sequences]
    own = [int(rng.integers(len(ys))) for ys in outputs]
    costs = [[missed(ys[k], y) for y in ys] for ys, k in zip(outputs, own, strict=True)]
    own_structures = [dot_bracket(ys[k]) for ys, k in zip(outputs, own, strict=True)]
    return Problem(
        structure,
        structure.encode(sequences, own_structures, rng.uniform(0.0, 2.0, len(sequences))),
        rng.normal(size=len(names)) * scale,
        [[np.array(y, np.int64) for y in ys] for ys in outputs],
        [
            np.array([feature_vector(names, sequence, y) for y in ys])
            for sequence, ys in zip(sequences, outputs, strict=True)
        ],
        own=own,
        costs=[np.array(values) for values in costs],
    )
