"""Files of commands: the structures that remain, and what they score, by the definition of each command."""

import io

import numpy as np
import pytest
from scipy.special import logsumexp

from field_formats import FORMATS
from rnas import pairs_of, structures
from structune.errors import DataError
from structune.rna import RNA, Constraints, read_commands

KINDS = {
    "line": ("GGGAAACCCAGUC", {}),
    "span": ("GGGAAACCCAGUC", {"max_span": 9}),
    "circle": ("GGGAAACCCAGUC", {"circular": True}),
    "strands": ("GGGAAAC&CCAGUC", {}),
}
RT = 0.0019872 * 310.15  # kcal/mol


def paired(y, *bases):
    return all(y[k - 1] >= 0 for k in bases)


def conflict(pairs, i, j):
    """Whether one of the pairs has one of two bases, or crosses their pair."""
    one_of_two = any(((p == i) != (q == j)) or p == j or q == i for p, q in pairs)
    return one_of_two or any(p < i < q < j or i < p < j < q for p, q in pairs)


# Of each file what holds of structures that it allows, by partners (from 0) and pairs (from 1); their score.
MEANINGS = {
    "F 3 0 1": (lambda y, p: paired(y, 3), None),
    "F 2 0 2 A D": (lambda y, p: y[1] > 1 and y[2] > 2, None),
    "F 8 0 1 U": (lambda y, p: 0 <= y[7] < 7, None),
    "F 2 9 1 A": (lambda y, p: (2, 9) in p, None),
    "F 1 9 2\nF 2 0 1": (lambda y, p: {(1, 9), (2, 8)} <= p, None),
    "F 9 0 1 U\n%c\n/* c */\nF 9 0 1\n": (lambda y, p: 0 <= y[8] < 8, None),
    "P 2 0 2 A": (lambda y, p: not paired(y, 2) and not paired(y, 3), None),
    "C 2 0 2": (lambda y, p: not paired(y, 2) and not paired(y, 3), None),
    "P 1 13 2": (lambda y, p: not p & {(1, 13), (2, 12)}, None),
    "P 1-3 8-9 A": (lambda y, p: not any(i <= 3 and 8 <= j <= 9 for i, j in p), None),
    "P 1-8 2-12 # overlapping": (lambda y, p: not any(i <= 8 and 2 <= j <= 12 for i, j in p), None),
    "C 2 9 1": (lambda y, p: not conflict(p, 2, 9), None),
    "C 1 9 2": (lambda y, p: not (conflict(p, 1, 9) or conflict(p, 2, 8)), None),
    "E 2 0 2 1.5": (None, lambda y, p: -1.5 / RT * sum(y[k] < 0 for k in (1, 2))),
    "E 1 9 2 -2\nE 2 8 1 0.5": (None, lambda y, p: (2 * ((1, 9) in p) + 1.5 * ((2, 8) in p)) / RT),
    "\n  2 9 1.5 # of a pair\n1 9 -inf\n2\t-2\n": (
        lambda y, p: (1, 9) not in p,
        lambda y, p: 1.5 * ((2, 9) in p) - 2 * paired(y, 2),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", MEANINGS)
def test_commands_mean_what_they_say(text, kind):
    sequence, options = KINDS[kind]
    holds, score = MEANINGS[text]
    rna, nick = RNA(initiation=0.0, **options), sequence.find("&")
    scores, free = [], []
    for y in structures(sequence, circular=rna.circular, max_span=rna.max_span):
        bases = [k for k in range(len(y)) if k != nick]
        partner = [bases.index(y[k]) if y[k] >= 0 else -1 for k in bases]
        pairs = {(i + 1, j + 1) for i, j in pairs_of(partner)}
        if holds is None or holds(partner, pairs):
            scores.append(0.0 if score is None else score(partner, pairs))
            free.append(partner)
    known = read_commands(io.StringIO(text))[""].constraints(sequence, rna=rna)
    shard, w = rna.encode([sequence], constraints=[known]), np.zeros(rna.n_weights)
    shift = 0.0 if known.paired is None or "E" not in text else -1.5 / RT * 2  # a paired base has the score
    assert rna.log_partition(w, shard)[0] + shift == pytest.approx(logsumexp(scores), rel=1e-4)
    p = np.zeros((len(free[0]),) * 2)
    for share, partner in zip(np.exp(scores - logsumexp(scores)), free, strict=True):
        for i, j in pairs_of(partner):
            p[i, j] += share
    found = rna.pair_probabilities(w, shard, 0)
    np.testing.assert_allclose(found if rna.max_span is None else found.toarray(), p, atol=1e-4)


def test_what_is_known_already_stays():
    commands = read_commands(io.StringIO("F 2 0 1 D\nF 1 0 1\nE 1 12 1 -1\n2 0.5\nP 3 9 1"))[""]
    before = Constraints("(|.........)", [(0, 7)], np.full(12, 0.5), pairs=[(11, 0, 1.0)])
    known = commands.constraints("GGGGAAAACCCC", before)
    assert known.notation == "(<.........)"
    assert known.prohibited.tolist() == [[0, 7], [2, 8]]
    assert known.paired.tolist() == [0.5, 1.0] + [0.5] * 10
    assert known.pairs == [(0, 11, pytest.approx(1 + 1 / RT, rel=1e-4))]
    assert commands.constraints("GG&GGAAAACCCC").notation == "|<&.........."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n0 5 2", ":2: '0 5 2' is not a constraint; structune reads commands F, .* with positions from 1"),
        ("12 1 3", ":1: a pair has its left base first, not 12 before 1"),
        ("1 12 2\n1 12 -inf", ":2: line 1 already has log odds of the same pair"),
        (">a\n3 2\n>b\n3 2\n3 1", ":5: line 4 already has log odds of the same base"),
        ("3 13 1", ":1: position 13 is beyond the 12 bases"),
        ("P 1-3 9-13", ":1: position 13 is beyond"),
        ("F 12 0 2", ":1: position 13 is beyond"),
        ("1 11 1\n2 3 1", ":2: bases 2 and 3: they cannot pair"),
        ("F 2 11 2\nF 4 9 2", ":2: bases 5 and 8: they cannot pair"),
        ("F 1 10 1", ":1: bases 1 and 10: they are 9 apart, but max_span is 8"),
        ("C 4 7 1", ":1: bases 4 and 7: they close a hairpin of 2 bases; min_hairpin is 3"),
        ("1 nan", ":1: 'nan' is not a number from -1000 to 1000"),
        ("E 1 0 1 617", ":1: '617' is not a number from -616.32 to 616.32"),
        ("1 -999", ":1: -999 is a missing reactivity; give reactivities to --shape"),
        ("UD AAA -5.0 A", ":1: the command 'UD' is not supported; structune reads"),
        ("A 1 12 1", ":1: the command 'A' is not supported"),
        ("F 1 0 2 H", ":1: 'H' is not supported; only A, all loops, may follow"),
        ("P 1 12 3 A U", ":1: 'A U' is not supported"),
        (" F 1 0 2", ":1: ViennaRNA skips lines that begin with a blank"),
        ("F 1 12 7", ":1: 7 pairs from 1 and 12: left bases must be left of their partners"),
        ("E 1 0 3", ":1: E needs i, j, k, and one energy in kcal/mol"),
        ("P 5-3 7-9", ":1: a range must not be empty"),
        ("F 1 0 2\nP 2 0 1", r":2: base 2 cannot be both '\|' and 'x'"),
        ("# none\n>a\n", ": the file has no constraints; structune reads"),
        (">a\n1 2\n>a\n2 2", ":3: 'a' occurs twice"),
        ("1 2\n>a\n1 2", ":2: lines above it have no name"),
    ],
)
def test_what_is_refused(text, message):
    rna = RNA(max_span=8 if "max_span" in message else None)
    with pytest.raises(DataError, match=f"^<input>{message}"):
        read_commands(io.StringIO(text))[""].constraints("GGGGAACACCCC", rna=rna)


@pytest.mark.parametrize("name", FORMATS)
def test_no_other_format_is_read(name):
    with pytest.raises(DataError):
        read_commands(io.BytesIO(FORMATS[name].data))
