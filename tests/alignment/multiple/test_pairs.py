"""Which sequences are compared, and the probabilities of their matches: those of the model of two."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from memory_use import peak_of
from structune import Protein, SequenceAligner
from structune.alignment import multiple
from structune.alignment.multiple import (
    LEAST,
    every_pair,
    guide_tree,
    match_probabilities,
    pairs_along,
    word_tree,
)
from structune.alignment.structure.alphabets import PROTEIN
from structune.running.executors import ThreadExecutor

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
    for x, (a, b) in enumerate(itertools.pairwise(ends)):
        assert not table[a:b, a:b].any()
        for y in range(x + 1, len(sequences)):
            expected = model.posterior(sequences[x], sequences[y])
            part = table[a:b, ends[y] : ends[y + 1]]
            assert_allclose(part, np.where(part > 0.0, expected, 0.0), atol=1e-5)
            assert np.all(expected[part == 0.0] < LEAST + 1e-5)


@pytest.mark.parametrize(("features", "overhangs"), [("full", "one"), ("affine", "both")])
def test_models(features, overhangs):
    model = SequenceAligner(features=features, overhangs=overhangs, n_jobs=1).fit([PAIR[0]], [PAIR[1]])
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


FAMILIES = ["MKVLAAGIVWWRDEKLMN", "HHHPPQQSTNNDEYFWCC"]


def random_tree(rng, n):
    likeness = rng.random((n, n))
    return guide_tree((likeness + likeness.T) / 2.0)


def pairs_of(compared):
    return sorted(tuple(sorted((x, y))) for x, others in enumerate(compared) for y in others.tolist())


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6])
def test_every_pair_is_there_once_and_work_is_even(n):
    compared = every_pair(n)
    assert pairs_of(compared) == list(itertools.combinations(range(n), 2))
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
        letters = list(FAMILIES[k % 2])
        letters[rng.integers(len(letters))] = "A"
        sequences.append("".join(letters).lower() if k % 3 else "".join(letters))
    tree, members = word_tree([*sequences, "", "XXXXXXX", "MK"], PROTEIN.words), [{x} for x in range(15)]
    for a, b in tree[:, :2].astype(int).tolist():
        members.append(members[a] | members[b])
    assert {0, 2, 4, 6, 8, 10} in members
    assert {1, 3, 5, 7, 9, 11} in members
