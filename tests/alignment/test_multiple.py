"""Multiple alignments: which two are compared, tables of their matches, progressive alignment, confidence."""

from itertools import combinations, pairwise
from unittest import mock

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from alignments import most_of_matches, random_matches
from memory_use import peak_of
from structune import Protein, SequenceAligner
from structune.alignment import multiple
from structune.alignment.multiple import (
    LEAST,
    Matches,
    Progressive,
    column_confidence,
    confidence,
    every_pair,
    features,
    guide_tree,
    match_probabilities,
    pairs_along,
    rows_of,
    word_tree,
)
from structune.alignment.structure.alphabets import PROTEIN
from structune.errors import DataError
from structune.running.executors import ThreadExecutor

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
    ("sequences", "options", "message"),
    [
        (["AC", 5], {}, "a sequence must be a str or a Protein, not 5"),
        ([], {}, "there are no sequences to align"),
        (["AC", "A1"], {}, r"sequence 1 \(from 0\): '1' at residue 1 \(from 0\) is not an amino"),
        ([Protein("AC", secondary="HH")], {}, "the model uses none"),
        (FAMILY, {"consistency": -1}, "consistency=-1: expected a whole number >= 0"),
        (FAMILY, {"refinements": 1.5}, "refinements=1.5: expected a whole number >= 0"),
        (FAMILY, {"all_pairs": None}, "all_pairs=None: expected a whole number >= 0"),
    ],
)
def test_what_is_wrong_is_named(sequences, options, message):
    with pytest.raises(DataError, match=message):
        MODEL.align(sequences, **options)


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


# --- which two are compared, and how probable their matches are -------------------------------------------


PAIR = ("MKVLAAGIVWWRDE", "MKVLGIVWRDE"), ("MKVLAAGIVWWRDE", "MKVL--GIVW-RDE")


def found(model, sequences, weights=None, n_workers=1, tell=lambda _: None, compared=None):
    structure = model._structure
    described = [structure.describe(Protein(text), "x") for text in sequences]
    executor = ThreadExecutor(n_workers)
    compared = every_pair(len(sequences)) if compared is None else compared
    return match_probabilities(structure, weights or [model.coef_], described, compared, executor, tell)


def check(model, sequences):
    matches = found(model, sequences)
    table, ends = matches.table.toarray(), matches.offsets.tolist()
    assert_allclose(table, table.T)
    for x, (a, b) in enumerate(pairwise(ends)):
        assert not table[a:b, a:b].any()
        for y in range(x + 1, len(sequences)):
            expected = model.posterior(sequences[x], sequences[y])
            part = table[a:b, ends[y] : ends[y + 1]]
            assert_allclose(part, np.where(part > 0.0, expected, 0.0), atol=1e-5)
            assert np.all(expected[part == 0.0] < LEAST + 1e-5)


@pytest.mark.parametrize(("features", "overhangs"), [("full", "one"), ("affine", "both")])
def test_models(features, overhangs):
    model = SequenceAligner(features=features, overhangs=overhangs, n_jobs=1).fit(*([of] for of in PAIR))
    check(model, [*PAIR[0], "MKIVWWR", "W", ""])


@given(st.lists(st.text("ACDEFGHIKLMNPQRSTVWYXBZU", max_size=12), min_size=1, max_size=4))
@settings(deadline=None, max_examples=15)
def test_any_sequences(sequences):
    check(SequenceAligner.pretrained(), sequences)


def test_scores_that_leave_the_range_of_numbers_are_found_in_another_way():
    model = SequenceAligner.pretrained()
    model.coef_ = 100.0 * model.coef_
    check(model, [*PAIR[0], "MKIVWWR"])


def test_a_band_that_holds_the_path_changes_nothing_and_takes_less():
    rng = np.random.default_rng(0)
    gene = rng.choice(list("ACGT"), 3000)
    family = ["".join(np.where(rng.random(3000) < 0.9, gene, "A"))[k : 3000 - 2 * k] for k in (0, 5, 9)]
    model = SequenceAligner.from_matrix("NUC.4.4", log_odds=True).set_params(n_jobs=1)
    whole, peak = model.align(family), peak_of(lambda: model.align(family))
    model.set_params(band=60)
    asked = []
    with mock.patch.object(multiple, "require_memory", lambda needed, *_: asked.append(needed)):
        taken = peak_of(lambda: model.align(family))
    assert model.align(family).rows == whole.rows
    assert taken < 0.3 * peak
    assert 0.7 * taken < max(asked) < 1.7 * taken
    with pytest.warns(UserWarning, match="reach the edge of the band"):
        model.set_params(band=4).align(family)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), n)) for n in (40, 30, 50, 45, 20)]
    model, tables = SequenceAligner.pretrained(), []
    for n in (1, 3):
        told = []
        tables.append(found(model, sequences, n_workers=n, tell=told.append).table)
        assert sum(told) == 5
    assert (tables[0] != tables[1]).nnz == 0


def test_several_models_are_averaged():
    model, sequences = SequenceAligner.pretrained(), [*PAIR[0], "MKIVWWR"]
    other = 0.5 * model.coef_
    alone, half, both = (
        found(model, sequences, weights).table.toarray()
        for weights in ([model.coef_], [other], [model.coef_, other])
    )
    mean = (alone + half) / 2.0
    assert_allclose(both, np.where(mean >= LEAST, mean, 0.0), atol=1e-6)


UNLIKE = ["MKVLAAGIVWWRDEKLMN", "HHHPPQQSTNNDEYFWCC"]


def random_tree(rng, n):
    likeness = rng.random((n, n))
    return guide_tree((likeness + likeness.T) / 2.0)


def pairs_of(compared):
    return sorted(tuple(sorted((x, y))) for x, others in enumerate(compared) for y in others.tolist())


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6])
def test_every_pair_is_there_once_and_work_is_even(n):
    compared = every_pair(n)
    assert pairs_of(compared) == list(combinations(range(n), 2))
    assert np.ptp([len(others) for others in compared] or [0]) <= 1


@pytest.mark.parametrize("most", [1, 3])
def test_some_stand_for_each_side_of_a_merge(most):
    n, rng = 40, np.random.default_rng(0)
    tree = random_tree(rng, n)
    compared = pairs_along(tree, most)
    pairs = pairs_of(compared)
    assert len(set(pairs)) == len(pairs) <= most**2 * (n - 1)
    table, members = np.zeros((n, n), bool), [{x} for x in range(n)]
    for x, y in pairs:
        table[x, y] = table[y, x] = True
    for a, b in tree[:, :2].astype(int).tolist():
        between = table[np.ix_(list(members[a]), list(members[b]))]
        assert between.sum() == min(most, len(members[a])) * min(most, len(members[b]))
        assert between.any(axis=1).sum() == min(most, len(members[a]))
        members.append(members[a] | members[b])


def test_words_find_families():
    rng = np.random.default_rng(0)
    sequences = []
    for k in range(12):
        letters = list(UNLIKE[k % 2])
        letters[rng.integers(len(letters))] = "A"
        sequences.append("".join(letters).lower() if k % 3 else "".join(letters))
    tree, members = word_tree([*sequences, "", "XXXXXXX", "MK"], PROTEIN.words), [{x} for x in range(15)]
    for a, b in tree[:, :2].astype(int).tolist():
        members.append(members[a] | members[b])
    assert {0, 2, 4, 6, 8, 10} in members
    assert {1, 3, 5, 7, 9, 11} in members


# --- tables of matches ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "n_workers"), [(0, 1), (1, 3)])
def test_consistency_is_a_mean_over_third_sequences(seed, n_workers):
    rng = np.random.default_rng(seed)
    matches = random_matches(rng, [4, 1, 6, 0, 5])
    n, before = len(matches), matches.table.toarray().astype(float)
    weight = rng.random((n, n))
    weight = weight + weight.T
    found = matches.consistent(weight, ThreadExecutor(n_workers)).table.toarray()
    np.fill_diagonal(weight, 1.0)
    ends = matches.offsets
    parts = {(x, y): before[ends[x] : ends[x + 1], ends[y] : ends[y + 1]] for x in range(n) for y in range(n)}
    for x, y in combinations(range(n), 2):
        parts[x, x], parts[y, y] = np.eye(ends[x + 1] - ends[x]), np.eye(ends[y + 1] - ends[y])
        terms = [weight[x, z] * weight[z, y] * parts[x, z] @ parts[z, y] for z in range(n)]
        expected = sum(terms) / (weight @ weight)[x, y]
        expected[parts[x, y] == 0.0] = 0.0  # what had no match gets none
        assert_allclose(found[ends[x] : ends[x + 1], ends[y] : ends[y + 1]], expected, atol=1e-5)
    assert_allclose(found, found.T)


@pytest.mark.parametrize("seed", range(3))
def test_accuracies_are_those_of_the_best_alignment(seed):
    matches = random_matches(np.random.default_rng(seed), [3, 4, 2])
    table, ends = matches.table.toarray(), matches.offsets
    for x, y in combinations(range(3), 2):
        part = table[ends[x] : ends[x + 1], ends[y] : ends[y + 1]]
        most = most_of_matches(part)
        assert matches.accuracies[x, y] == pytest.approx(most / min(part.shape), abs=1e-6)


def test_sequences_without_residues():
    matches = random_matches(np.random.default_rng(0), [0, 3, 0])
    assert_allclose(matches.accuracies, np.eye(3))
    assert matches.consistent(np.ones((3, 3)), ThreadExecutor(1)).table.nnz == 0


# --- groups along a guide tree ----------------------------------------------------------------------------


def value_of(matches, column):
    table = matches.table.toarray()
    return table[column[:, None] == column].sum() / 2.0


@pytest.mark.parametrize("seed", range(3))
def test_two_sequences_have_the_best_alignment(seed):
    matches = random_matches(np.random.default_rng(seed), [4, 5])
    found = Progressive(matches, guide_tree(matches.accuracies))
    assert found.value() == pytest.approx(4 * matches.accuracies[0, 1], abs=1e-5)
    assert found.value() == pytest.approx(value_of(matches, found.column), abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_groups_have_the_best_alignment_of_their_columns(seed):
    matches = random_matches(np.random.default_rng(seed), [2, 3, 3])
    tree = guide_tree(matches.accuracies)
    first, second = (int(k) for k in tree[0, :2])
    (third,) = {0, 1, 2} - {first, second}
    found = Progressive(matches, tree)
    ends = matches.offsets
    table, residues = matches.table.toarray(), [range(ends[s], ends[s + 1]) for s in range(3)]
    columns = sorted({found.column[r] for s in (first, second) for r in residues[s]})
    group = [[r for s in (first, second) for r in residues[s] if found.column[r] == c] for c in columns]
    worth = np.array([[sum(table[r, c] for r in column) for c in residues[third]] for column in group])
    best = most_of_matches(worth)
    inside = sum(table[a, b] for column in group for a, b in combinations(column, 2))
    assert found.value() == pytest.approx(best + inside, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_refinement_never_lowers_the_value_and_ends(seed):
    matches = random_matches(np.random.default_rng(seed), [6, 5, 7, 6, 5, 4])
    found = Progressive(matches, guide_tree(matches.accuracies))
    before = found.value()
    assert found.refine(100) < 100
    assert found.value() >= before - 1e-5
    assert set(found.column.tolist()) == set(range(found.width))
    assert found.refine(3) == 1
    for a, b in zip(matches.offsets, matches.offsets[1:], strict=False):
        assert np.all(np.diff(found.column[a:b]) > 0)


def test_rows():
    assert rows_of(["AC", "D", ""], np.array([0, 2, 1], np.int32), 3) == ["A-C", "-D-", "---"]
