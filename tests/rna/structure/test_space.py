"""Which RNA sequences and structures a model takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnas import dot_bracket, loops, may_pair, random_sequence
from structune.errors import DataError
from structune.rna.structure.rna import RNA


def test_letters():
    rna = RNA()
    same = rna.encode(["ACGUACGU", "acguacgu", "ACGTacgt"]).letters.reshape(3, 8)
    assert np.all(same == same[0])
    assert rna.encode(["NRY"]).letters.tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("sequence", "structure", "message"),
    [
        ("AC-GU", ".....", "sequence 0, base 2 .*'-' is not a nucleotide"),
        ("ACĀGU", ".....", "sequence 0, base 2"),
        ("ACGU", ".....", "sequence 0: the length of a structure is 5, but there are 4 bases"),
        ("ACGU", ".)..", r"sequence 0, base 1 .* '\)' has no matching '\('"),
        ("ACGU", ".(..", r"sequence 0, base 1 .* '\(' has no matching '\)'"),
        ("ACGU", ".[].", r"sequence 0, base 1 .* '\['"),
        ("AAAAA", "(...)", "bases 0 and 4 .*cannot pair"),
        ("NAAAU", "(...)", "bases 0 and 4 .*cannot pair"),
        ("GAAC", "(..)", "hairpin of 2 bases; min_hairpin is 3"),
        ("G" + "A" * 31 + "GAAACC", "(" + "." * 31 + "(...))", "loop of 31 bases"),
    ],
)
def test_what_is_refused(sequence, structure, message):
    with pytest.raises(DataError, match=message):
        RNA().encode([sequence], [structure])


def any_structure(rng, n):
    """Nested pairs of any bases, with loops of any length."""
    partner, opened = [-1] * n, []
    open_at, close_at = rng.choice([0.05, 0.3, 0.5]), rng.choice([0.05, 0.3, 0.5])
    for j in range(n):
        if opened and rng.random() < close_at:
            partner[j] = opened.pop()
            partner[partner[j]] = j
        elif rng.random() < open_at:
            opened.append(j)
    return partner


def expected_offences(sequence, partner, min_hairpin, noncanonical):
    """By the definition, the pairs in any order."""
    found = set()
    for outer, inner, unpaired in loops(partner):
        if outer is None:
            continue
        if not may_pair(sequence[outer[0]], sequence[outer[1]], noncanonical):
            found.add((*outer, "cannot pair"))
        elif not inner and unpaired < min_hairpin:
            found.add((*outer, f"hairpin of {unpaired} bases; min_hairpin is {min_hairpin}"))
        elif len(inner) == 1 and unpaired > 30:
            found.add((*outer, f"loop of {unpaired} bases; the maximum is 30"))
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 150),
    min_hairpin=st.integers(0, 4),
    noncanonical=st.booleans(),
    letters=st.sampled_from(["ACGU", "ACGUN", "G", "GGGGGGGGC"]),
)
def test_offences(seed, n, min_hairpin, noncanonical, letters):
    rng = np.random.default_rng(seed)
    rna, sequence = RNA(min_hairpin, noncanonical), random_sequence(rng, n, letters)
    partner = any_structure(rng, n)
    found = rna.offences(sequence, dot_bracket(partner))
    expected = expected_offences(sequence, partner, min_hairpin, noncanonical)
    assert len(found) == len(expected)
    assert {(i, j) for i, j, *_ in found} == {(i, j) for i, j, _ in expected}
    for i, j, reason, _ in found:
        assert any((i, j) == (a, b) and what in reason for a, b, what in expected)
    assert [j for _, j, *_ in found] == sorted(j for _, j, *_ in found)  # inner ones first
    if found:
        with pytest.raises(DataError, match=rf"sequence 1, bases {found[0][0]} and {found[0][1]} "):
            rna.encode(["", sequence], ["", dot_bracket(partner)])
    else:
        rna.encode([sequence], [dot_bracket(partner)])
