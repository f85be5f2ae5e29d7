"""Multiple alignments of the pretrained model: laws, odd input, confidence."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from alignments import random_matches
from structune import Protein, SequenceAligner
from structune.alignment.multiple import Matches, column_confidence, confidence, features
from structune.errors import DataError

MODEL = SequenceAligner.pretrained().set_params(n_jobs=1)
FAMILY = [
    "MKVLAAGIVGAGPAGLTAARELARRGHEVTVFEKS",
    "MRVLVVGAGIGGLTAAYLLKKAGYEVTLLEAS",
    "KVAVIGAGVIGLSTALCLLERGYEVTVLEREP",
    "MKVAILGAGIAGLSAARELQKRGHDVTLFEKSD",
]


def degapped(rows):
    return [row.replace("-", "") for row in rows]


def test_a_family():
    found = MODEL.align(FAMILY)
    assert degapped(found.rows) == FAMILY
    assert len({len(row) for row in found.rows}) == 1
    assert not any(set(column) == {"-"} for column in zip(*found.rows, strict=True))
    columns = list(zip(*found.rows, strict=True))
    g = [k for k, column in enumerate(columns) if column[0] == "G" and set(column) == {"G"}]
    assert len(g) >= 2  # of the motif GxGxxG
    assert found.confidence[g].min() > 0.8
    pairs = np.array([sum(c != "-" for c in column) for column in columns])
    assert_array_equal(np.isnan(found.confidence), pairs < 2)
    assert np.nanmax(found.confidence) <= 1.0 + 1e-6
    assert found.tree.shape == (3, 4)
    assert found.value > 0.0


@given(st.lists(st.text("ACDEFGHIKLMNPQRSTVWYXBZUOJ*", max_size=15), min_size=1, max_size=6), st.randoms())
@settings(deadline=None, max_examples=20)
def test_any_sequences_come_back_in_any_order(sequences, random):
    found = MODEL.align(sequences, refinements=2)
    assert degapped(found.rows) == sequences
    order = list(range(len(sequences)))
    random.shuffle(order)
    again = MODEL.align([sequences[k] for k in order], refinements=2)
    rows_by_text = sorted(zip(sequences, found.rows, strict=True))
    assert sorted(zip((sequences[k] for k in order), again.rows, strict=True)) == rows_by_text
    assert_allclose(again.accuracies, found.accuracies[np.ix_(order, order)])


@pytest.mark.parametrize("n", [1, 3])
def test_identical_sequences_have_no_gaps(n):
    found = MODEL.align([FAMILY[0]] * n)
    assert found.rows == [FAMILY[0]] * n
    if n > 1:
        assert found.confidence.min() > 0.5


def test_two_sequences_are_aligned_as_by_predict():
    x, y = FAMILY[:2]
    (rows,) = MODEL.predict([(x, y)], gamma=np.inf)
    found = MODEL.align([x, y], matrix=None)
    assert found.value == pytest.approx(
        np.nansum(MODEL.predict_confidence([(x, y)], gamma=np.inf)[0].confidence), rel=1e-2
    )
    assert sum(a != "-" != b for a, b in zip(*found.rows, strict=True)) <= sum(
        a != "-" != b for a, b in zip(*rows, strict=True)
    )


def test_the_tree_names_the_sequences_as_they_were_given():
    sequences = [FAMILY[2], FAMILY[0], "WWWPWWHHWWCC", FAMILY[0]]
    found = MODEL.align(sequences)
    assert set(found.tree[0, :2].astype(int)) == {1, 3}
    assert 2 in found.tree[-1, :2].astype(int)


def test_probabilities_are_those_of_the_sequences_as_they_were_given():
    found = MODEL.align(FAMILY, matrix=None)
    for a, b in ((0, 1), (3, 2)):
        expected = MODEL.posterior(FAMILY[a], FAMILY[b])
        assert_allclose(found.probabilities(a, b), np.where(expected < 0.01, 0.0, expected), atol=2e-5)


def test_many_sequences_are_aligned_by_those_that_stand_for_others():
    rng = np.random.default_rng(0)
    family = [FAMILY[0][:k] + rng.choice(list("ACDEFW")) + FAMILY[0][k + 1 :] for k in range(35)]
    family += [sequence[3:20] for sequence in family[:5]]
    found = MODEL.align(family, all_pairs=10)
    assert degapped(found.rows) == family
    assert len(found.rows[0]) == 35
    assert np.count_nonzero(found.accuracies) < len(family) ** 2 - 100
    assert found.confidence[5:15].min() > 0.8  # of those that were compared
    assert found.tree.shape == (39, 4)
    again = MODEL.align(family, all_pairs=40)
    assert again.rows == found.rows
    assert np.count_nonzero(again.accuracies) == len(family) ** 2


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        (["AC", 5], "found 5, expected a sequence: a str or a Protein"),
        ([], "found no sequences to align, expected at least one"),
        (["AC", "A1"], r"sequence 1 \(from 0\): found '1' at residue 1 \(from 0\), expected an amino acid"),
        ([Protein("AC", secondary="HH")], "expected none"),
    ],
)
def test_what_is_wrong_is_named(sequences, message):
    with pytest.raises(DataError, match=message):
        MODEL.align(sequences)


@pytest.mark.parametrize(("name", "value"), [("consistency", -1), ("refinements", 1.5), ("all_pairs", None)])
def test_numbers_that_are_none(name, value):
    with pytest.raises(DataError, match=f"{name}={value}: expected a whole number >= 0"):
        MODEL.align(FAMILY, **{name: value})


def test_a_model_that_is_a_matrix_has_no_other_one_beside_it():
    model = SequenceAligner.from_matrix("BLOSUM45", log_odds=True)
    assert model.align(FAMILY).value == model.align(FAMILY, matrix=None).value


@pytest.mark.parametrize("seed", range(3))
def test_columns_have_the_mean_of_their_matches(seed):
    rng, lengths = np.random.default_rng(seed), [3, 4, 0, 2]
    matches = random_matches(rng, lengths)
    compared = matches.compared
    compared[0, 3] = compared[3, 0] = False
    lost = rng.random(matches.table.shape) < 0.2  # some have lost all of their probability
    fewer = scipy.sparse.csr_array(np.where(lost | lost.T, 0.0, 0.8 * matches.table.toarray()))
    values = Matches(matches.offsets, fewer, compared)
    column = np.concatenate([np.sort(rng.choice(6, n, replace=False)) for n in lengths]).astype(np.int32)
    found = column_confidence(matches, values, column, 6)
    p, v = (m.table.toarray() for m in (matches, values))
    for k in range(6):
        inside = np.flatnonzero(column == k)
        each = [
            confidence(features(p[i, j : j + 1], v[i, j : j + 1], 4))
            for i in inside
            for j in inside
            if i < j and compared[matches.sequence[i], matches.sequence[j]]
        ]
        assert_allclose(found[k], np.mean(each) if each else np.nan, rtol=1e-6)


def test_third_sequences_that_agree_make_sure():
    p, v = np.array([0.5, 0.5, 0.5, 0.9, 0.0, 1.0]), np.array([0.5, 0.7, 0.3, 0.9, 0.0, 1.0])
    two, many = (confidence(features(p, v, n)) for n in (2, 50))
    assert np.all(two < many)
    assert many[2] < many[0] < many[1] < many[3]
    assert np.all((many > 0.0) & (many < 1.0))
    assert_allclose(two[[0, 3]], p[[0, 3]], atol=0.1)  # as the model of two says
