"""RNA structures of short sequences, written out, and their features from the definition, in plain Python."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from laws import Problem
from structune.rna import RNARecord, to_dot_bracket
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.rna import RNA

LETTERS = "ACGU"
CANONICAL = {"AU", "UA", "CG", "GC", "GU", "UG"}
SPANS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def structures(sequence, min_hairpin=3, noncanonical=False, max_span=None, circular=False):
    """All structures of the model's space, as partner lists; `&` between two strands has a place in them."""
    nick = sequence.find("&")

    def over(i, j):
        if i > j:
            return [()]
        found = list(over(i + 1, j))
        last = j if max_span is None else min(j, i + max_span)
        for k in range(i + 1, last + 1):
            if (k - i > min_hairpin or i < nick < k) and may_pair(sequence[i], sequence[k], noncanonical):
                inner = over(i + 1, k - 1)
                found += [((i, k), *a, *b) for a in inner for b in over(k + 1, j)]
        return found

    result = []
    for pairs in over(0, len(sequence) - 1):
        partner = [-1] * len(sequence)
        for i, j in pairs:
            partner[i], partner[j] = j, i
        if all(
            is_loop(inner, unpaired, min_hairpin)
            for outer, inner, unpaired in loops(partner, nick, circular)
            if outer
        ):
            result.append(partner)
    return result


def is_loop(inner, unpaired, min_hairpin):
    """Whether a loop that a pair closes is one of the model's."""
    return unpaired >= min_hairpin if not inner else len(inner) > 1 or unpaired <= 30


def may_pair(a, b, noncanonical=False):
    return a + b in CANONICAL or (noncanonical and a in LETTERS and b in LETTERS)


def loops(partner, nick=-1, circular=False):
    """Of each loop the pair that closes it, the pairs inside, and its unpaired bases.

    No pair closes the exterior, nor the loop in which two strands end: the pair is one of its inner ones, as
    seen from there. A circle's last loop is closed by its first pair.
    """
    found = []
    for outer in [None, *((i, j) for i, j in enumerate(partner) if j > i)]:
        k, last = (outer[0] + 1, outer[1]) if outer else (0, len(partner))
        inner, unpaired, is_cut = [], 0, False
        while k < last:
            if partner[k] > k:
                inner.append((k, partner[k]))
                k = partner[k]
            else:
                unpaired += k != nick
                is_cut |= k == nick
            k += 1
        if outer and is_cut:
            found.append((None, [outer[::-1], *inner], unpaired))
        elif not outer and circular and inner:
            found.append((inner[0][::-1], inner[1:], unpaired))
        else:
            found.append((outer, inner, unpaired))
    return found


def features(sequence, partner, circular=False):
    """Number of times that each named feature occurs."""
    found, n = Counter(), len(sequence)

    def at(k):
        if circular:
            return sequence[k % n] if sequence[k % n] in "ACGU" else None
        return sequence[k] if 0 <= k < n and sequence[k] in "ACGU" else None

    found.update(f"base_pair_{''.join(sorted(at(i) + at(j)))}" for i, j in pairs_of(partner))

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

    def internal(i, j, p, q):
        l1, l2 = (p - i - 1) % n, (j - q - 1) % n
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

    for outer, pairs, unpaired in loops(partner, sequence.find("&"), circular):
        if outer is None:
            found["external_unpaired"] += unpaired
            found["external_paired"] += len(pairs)
            for p, q in pairs:
                junction_a(q, p)
            continue
        i, j = outer
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
    return found


def further_features(sequence, partner, circular=False):
    """The same of what the extended model has beside them."""
    found, n, nick = Counter(), len(sequence), sequence.find("&")

    def known(*places):
        """The letters of bases if all exist and are known."""
        some = [k % n for k in places] if circular else [k for k in places if 0 <= k < n]
        word = "".join(sequence[k] for k in some if sequence[k] in LETTERS)
        return word if len(word) == len(places) else ""

    for i, j in pairs_of(partner):
        distance = 0 if i < nick < j else min(j - i, n - j + i) if circular else j - i
        found.update(f"span_at_least_{span}" for span in SPANS if distance >= span)

    def junction(loop, a, b):
        found[f"{loop}_closing_{known(a, b)}"] += 1
        if known(a, b, a + 1, b - 1):
            found[f"{loop}_mismatch_{known(a, b, a + 1, b - 1)}"] += 1

    for outer, pairs, unpaired in loops(partner, nick, circular):
        loop = "multi" if outer else "external"
        if outer is None or len(pairs) > 1:
            for p, q in pairs:
                junction(loop, q, p)
        if outer is None:
            continue
        i, j = outer
        if len(pairs) > 1:
            junction(loop, i, j)
        elif not pairs:
            junction("hairpin", i, j)
            if unpaired in (3, 4) and (word := known(*range(i + 1, i + 1 + unpaired))):
                found[f"{'triloop' if unpaired == 3 else 'tetraloop'}_{word}"] += 1
        else:
            p, q = pairs[0]
            few, many = sorted(((p - i - 1) % n, (j - q - 1) % n))
            word = "" if circular or i < nick < j else known(i, j, p, q, i - 1, j + 1)
            if many == 0 and word and {word[:2], word[2:4]} <= CANONICAL:
                found[f"stack_context_{word}"] += 1
            if few and 4 < many <= 10:
                found[f"internal_sides_{few}_{many}"] += 1
    return found


def feature_vector(rna, sequence, partner):
    counts, names = features(sequence, partner, rna.circular), rna.weight_names()
    if rna.feature_set == "extended":
        counts += further_features(sequence, partner, rna.circular)
    assert set(counts) <= set(names), set(counts) - set(names)
    return np.array([float(counts[name]) for name in names])


def enumerated_pairs(outputs, scores):
    """Probability of every pair, upper triangle."""
    n = outputs[0].size
    found = np.zeros((n, n))
    for share, partner in zip(np.exp(scores - logsumexp(scores)), outputs, strict=True):
        opens = np.flatnonzero(partner > np.arange(n))
        found[opens, partner[opens]] += share
    return found


def pair_probabilities(rna, w, shard, s):
    """Those of the model, dense, with a row and a column for each place between two strands."""
    found = rna.pair_probabilities(w, shard, s)
    found = found if rna.max_span is None else found.toarray()
    bases = np.flatnonzero(shard.letters[shard.offsets[s] : shard.offsets[s + 1]] < 5)
    n = shard.sizes()[s]
    table = np.zeros((n, n))
    table[np.ix_(bases, bases)] = found
    return table


def missed(truth, partner):
    """Share of the paired bases whose partner is another, or none."""
    paired = [i for i, j in enumerate(truth) if j >= 0]
    return sum(partner[i] != truth[i] for i in paired) / max(1, len(paired))


def accuracy(probabilities, partner, gamma):
    """Expected accuracy of a structure, by its definition."""
    both = probabilities + probabilities.T
    return sum(
        1.0 - both[i].sum() if j < 0 else gamma * both[i, j]  # each pair is met twice
        for i, j in enumerate(partner)
    )


def has_lonely_pairs(partner):
    pairs = pairs_of(partner)
    return any((i - 1, j + 1) not in pairs and (i + 1, j - 1) not in pairs for i, j in pairs)


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


def written(sequence, partner):
    """Dot-bracket notation with `&` where the sequence has it."""
    return "".join("&" if a == "&" else b for a, b in zip(sequence, dot_bracket(partner), strict=True))


def over_places(sequence, partner):
    """Partners with the 31 places that the model has between two strands."""
    nick, n = sequence.find("&"), len(sequence)
    place = [k + 30 * (0 <= nick < k) for k in range(n)]
    found = np.full(n + 30 * (nick >= 0), -1, np.int64)
    for i, j in pairs_of(partner):
        found[[place[i], place[j]]] = place[j], place[i]
    return found


def random_sequence(rng, n, letters="ACGU"):
    return "".join(rng.choice(list(letters), n))


def hairpins(n, seed=0):
    """Random hairpins with loose ends, and their structures."""
    rng = np.random.default_rng(seed)
    sequences, structures = [], []
    for _ in range(n):
        stem, loop, left, right = rng.integers([3, 3, 0, 0], [6, 7, 4, 4])
        pairs = rng.choice(["GC", "CG", "AU", "UA", "GU"], stem)
        bases = "".join(rng.choice(list("ACGU"), left + loop + right))
        forth, back = ("".join(pair[k] for pair in pairs) for k in (0, 1))
        sequences.append(bases[:left] + forth + bases[left : left + loop] + back[::-1] + bases[left + loop :])
        structures.append("." * left + "(" * stem + "." * loop + ")" * stem + "." * right)
    return sequences, structures


def spread_sequence(rng):
    """A long sequence with few bases that may pair, and few structures, but loops of all sizes."""
    gaps = rng.choice([0, 0, 0, 1, 2, 3, 4, 6, 9, 15, 31], int(rng.integers(4, 8)))
    return "".join("A" * gap + rng.choice(["G", "C"]) for gap in gaps) + "A" * int(rng.integers(3))


def pairs_of(partner):
    return {(i, j) for i, j in enumerate(partner) if j > i}


def problem_of(rna, rng, sequences, scale):
    """All structures of the sequences, with random weights; the shard holds one of each at random."""
    outputs = [
        structures(sequence, rna.min_hairpin, rna.noncanonical, rna.max_span, rna.circular)
        for sequence in sequences
    ]
    own = [int(rng.integers(len(ys))) for ys in outputs]
    own_structures = [
        written(sequence, ys[k]) for sequence, ys, k in zip(sequences, outputs, own, strict=True)
    ]
    return Problem(
        rna,
        rna.encode(sequences, own_structures, rng.uniform(0.0, 2.0, len(sequences))),
        rng.normal(size=rna.n_weights) * scale,
        [[over_places(sequence, y) for y in ys] for sequence, ys in zip(sequences, outputs, strict=True)],
        [
            np.array([feature_vector(rna, sequence, y) for y in ys])
            for sequence, ys in zip(sequences, outputs, strict=True)
        ],
        own=own,
        costs=[np.array([missed(ys[k], y) for y in ys]) for ys, k in zip(outputs, own, strict=True)],
    )


@st.composite
def problems(draw, max_length=13, scale=1.0, spread=False, two_strands=0.0, **options):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    span = None if options.get("circular") or two_strands else draw(st.sampled_from([None, None, 5, 9]))
    options = {"initiation": 0.0, "max_span": span, **options}
    rna, sequences = RNA(draw(st.sampled_from([0, 1, 3])), **options), []
    letters = draw(st.sampled_from(["ACGU", "GC", "GCGCGCGCAUN"]))
    for length in draw(st.lists(st.integers(0, max_length), min_size=1, max_size=3)):
        shorter = min(length, 7 + 2 * rna.min_hairpin)  # the number of structures explodes
        sequences.append(spread_sequence(rng) if spread else random_sequence(rng, shorter, letters))
    if two_strands:
        sequences = [cut(rng, sequence) if rng.random() < two_strands else sequence for sequence in sequences]
    return problem_of(rna, rng, sequences, scale)


@st.composite
def any_problems(draw, **options):
    """Of one strand, of two, or of a circle."""
    kinds = [{}, {}, {"two_strands": 0.8}, {"circular": True}]
    return draw(problems(**options, **draw(st.sampled_from(kinds))))


def cut(rng, sequence):
    """Two strands, if there are bases for them."""
    if len(sequence) < 2:
        return sequence
    sequence = sequence[:10]  # there are more structures
    k = int(rng.integers(1, len(sequence)))
    return f"{sequence[:k]}&{sequence[k:]}"


@st.composite
def partner_arrays(draw, max_pairs=8):
    n_pairs, n_unpaired = draw(st.integers(0, max_pairs)), draw(st.integers(0, 5))
    bases = draw(st.permutations(range(2 * n_pairs + n_unpaired)))
    found = np.full(len(bases), -1, np.int64)
    for i, j in zip(bases[: 2 * n_pairs : 2], bases[1 : 2 * n_pairs : 2], strict=True):
        found[i], found[j] = j, i
    return found


@st.composite
def structured_records(draw):
    structure = to_dot_bracket(draw(partner_arrays()))
    n = len(structure)
    name = draw(st.text("ab:>#;=0.", min_size=1, max_size=5))
    return RNARecord(name, draw(st.text("ACGUNX", min_size=n, max_size=n)), structure)


@dataclass(frozen=True)
class Constrained(Problem):
    """A problem with only the outputs that its constraints allow.

    Attributes
    ----------
    beside : list of ndarray
        Score of each output beside that of its features.
    free : list of lists of ndarray
        All outputs of each example, allowed or not.
    given : list of Constraints
    """

    beside: list[np.ndarray] = field(default_factory=list, repr=False)
    free: list[list[np.ndarray]] = field(default_factory=list, repr=False)
    given: list[Constraints] = field(default_factory=list)

    @property
    def scores(self):
        return [features @ self.w + more for features, more in zip(self.features, self.beside, strict=True)]


def satisfies(partner, given):
    """Whether a structure is what the constraints say."""
    right = {
        ".": lambda i, j: True,
        "&": lambda i, j: True,
        "x": lambda i, j: j < 0,
        "|": lambda i, j: j >= 0,
        "<": lambda i, j: j > i,
        ">": lambda i, j: 0 <= j < i,
        "(": lambda i, j: j == together[i],
        ")": lambda i, j: j == together[i],
    }
    together = partners(given.notation)
    kept = all(right[mark](i, partner[i]) for i, mark in enumerate(given.notation))
    return kept and all(partner[i] != j for i, j in given.prohibited)


def true_constraints(rng, partner, marks):
    """Constraints that a structure satisfies, some of the notation in `marks`."""
    notation = ["."] * len(partner)
    for i, j in enumerate(partner):
        of_base = "x" if j < 0 else "|<(" if j > i else "|>"
        mark = rng.choice([".", *(mark for mark in of_base if mark in marks)])
        if notation[i] == ".":
            notation[i] = mark
        if mark == "(":
            notation[j] = ")"
    pairs = [(i, j) for j in range(len(partner)) for i in range(j) if partner[i] != j]
    chosen = rng.random(len(pairs)) < rng.choice([0.0, 0.1, 0.4])
    return Constraints("".join(notation), [pair for pair, keep in zip(pairs, chosen, strict=True) if keep])


@st.composite
def constrained(draw, marks=".x|<>()", paired=True, **options):
    """Some sequences with constraints and, if `paired`, some with scores of bases for being paired."""
    problem, rng = draw(problems(**options)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shard, given, beside = problem.shard, [], []
    own = [ys[k] for ys, k in zip(problem.outputs, problem.own, strict=True)]
    for y, ys in zip(own, problem.outputs, strict=True):
        known = true_constraints(rng, y.tolist(), marks) if rng.random() < 0.7 else Constraints()
        score = rng.normal(size=y.size) * 2 * (paired and rng.random() < 0.5)
        given.append(replace(known, paired=score if score.any() else None))
        beside.append(np.array([score[y >= 0].sum() for y in ys]))
    kept = [[satisfies(y, g) for y in ys] for g, ys in zip(given, problem.outputs, strict=True)]

    def of_kept(values):
        return [v[keep] for v, keep in zip(values, kept, strict=True)]

    return Constrained(
        problem.structure,
        problem.structure.encode(
            sequences_of(shard), [dot_bracket(y) for y in own], shard.weights, [given_as(g) for g in given]
        ),
        problem.w,
        [
            [y for y, keep in zip(ys, keeps, strict=True) if keep]
            for ys, keeps in zip(problem.outputs, kept, strict=True)
        ],
        of_kept(problem.features),
        own=[sum(keep[:k]) for keep, k in zip(kept, problem.own, strict=True)],
        costs=of_kept(problem.costs),
        beside=of_kept(beside),
        free=problem.outputs,
        given=given,
    )


def sequences_of(shard):
    """The letters of each sequence."""
    letters = np.split(np.array(list("ACGUN"))[shard.letters], shard.offsets[1:-1])
    return ["".join(word) for word in letters]


def given_as(given):
    """As users write constraints: none, their notation only, or all."""
    if given.prohibited or given.paired is not None:
        return given
    return given.notation or None
