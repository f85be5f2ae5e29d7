"""Reactivities as log odds: what they say, and that it is learned from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rnas import random_sequence
from structune.errors import DataError
from structune.rna import Constraints, ReactivityModel, RNAFolder, deigan_log_odds


@pytest.fixture(scope="module")
def folder():
    return RNAFolder.pretrained().set_params(n_jobs=1)


def test_the_table_that_is_shipped(folder):
    """Of all letters, less reactive bases are more probably paired; what is not known says nothing."""
    table = ReactivityModel.pretrained()
    found = table.paired("ACGUACGUN", [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 0.0])
    assert np.all(found[:4] > 0.3)
    assert np.all(found[4:8] < -0.3)
    assert found[8] == 0.0
    assert_allclose(table.paired("AC", [np.nan, np.nan]), 0.0)
    for knots, odds in zip(table.reactivities, table.log_odds, strict=True):
        assert np.all(np.diff(knots) > 0)
        assert np.all(np.diff(odds) <= 0)
    with pytest.raises(DataError, match=r"reactivities of shape \(3,\) for 2 bases"):
        table.paired("AC", [1, 2, 3])


def test_what_is_learned_is_what_was_simulated(folder, tmp_path):
    """Reactivities drawn from two densities; no structure is told, only the model that they come from."""
    rng = np.random.default_rng(0)
    sequences = [random_sequence(rng, 60) for _ in range(500)]
    reactivities = []
    for (structure,) in folder.sample(sequences, 1, 0):
        paired = np.array(list(structure)) != "."
        r = np.where(paired, rng.exponential(0.25, 60), rng.exponential(1.0, 60))
        reactivities.append(np.where(rng.random(60) < 0.1, np.nan, r))
    table = ReactivityModel.fit(folder, sequences, reactivities, rounds=8)
    for r in (0.1, 0.5, 1.0):
        expected = np.log(4.0) - 3.0 * r  # of the two densities
        assert_allclose(table.paired("ACGU", [r] * 4), expected, atol=0.5)
    table.save(tmp_path / "table.json")
    assert (tmp_path / "table.json").read_text().endswith("}\n")


def test_too_little_to_learn_from(folder):
    with pytest.raises(DataError, match="found 2 reactivities of A, expected at least 32"):
        ReactivityModel.fit(folder, ["AACCGGUU"], [np.ones(8)])
    with pytest.raises(DataError, match=r"sequence 0: found reactivities of shape \(3,\) for 8 bases"):
        ReactivityModel.fit(folder, ["AACCGGUU"], [np.ones(3)])
    with pytest.raises(DataError, match="found reactivities of 1 sequences, expected 2"):
        ReactivityModel.fit(folder, ["AACCGGUU", "ACGU"], [np.ones(8)])


def test_pseudo_energies():
    """Deigan et al. 2009: 1.8 ln(1 + r) - 0.6 kcal/mol, at 37 C."""
    found = deigan_log_odds([0.0, -0.5, np.nan, 1.0])
    kt = 0.0019872 * 310.15
    assert_allclose(found, [0.6 / kt, 0.6 / kt, 0.0, (0.6 - 1.8 * np.log(2.0)) / kt], rtol=1e-4)


def test_evidence_of_structures_is_learned_from():
    """Bases that are said to be paired come to pair, without any structure."""
    x, rng = ["GGGAAAACCC", "GCGAAAACGC", "GGCAAAAGCC"], np.random.default_rng(0)
    odds = np.array([3.0] * 3 + [-3.0] * 4 + [3.0] * 3)
    known = [Constraints(paired=odds + rng.normal(0.0, 0.1, 10)) for _ in x]
    folder = RNAFolder(penalty=0.1, n_jobs=1).fit(x, known)
    assert folder.predict(x) == ["(((....)))"] * 3
    mixed = RNAFolder(penalty=0.1, n_jobs=1).fit(x, ["(((....)))", known[1], Constraints("(((....)))")])
    assert mixed.predict(x) == ["(((....)))"] * 3
    none = RNAFolder(penalty=0.1, n_jobs=1).fit(x, [Constraints()] * 3)
    assert_allclose(none.coef_, 0.0, atol=1e-9)
    assert_allclose(none.log_loss(x, [Constraints()] * 3), 0.0, atol=1e-9)
    share = none.pair_probabilities(x[0], Constraints())[0, 9]
    assert_allclose(none.log_loss(x[:1], [Constraints("(........)")]), -np.log(share), rtol=1e-6)


def test_evidence_that_is_refused():
    known = Constraints("(........)")
    with pytest.raises(DataError, match="sequence 1: found constraints of length 10 for 4 bases"):
        RNAFolder().fit(["GGGAAAACCC", "ACGU"], [known, known])
    with pytest.raises(DataError, match="structure 1: found 3, expected a string or Constraints"):
        RNAFolder().fit(["GGGAAAACCC", "ACGU"], [known, 3])
    with pytest.raises(DataError, match="sequence 1: found constraints that no structure satisfies"):
        RNAFolder(outside="skip").fit(["GAAC", "GGGAAAACCC"], ["(..)", Constraints("|xxxxxxxxx")])
    with pytest.raises(DataError, match="only partly known"):
        RNAFolder(loss="margin").fit(["GGGAAAACCC"], [known])
