"""Reactivities: their files, what they say as log odds, and that it is learned from them."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rnas import random_sequence
from structune.errors import DataError
from structune.rna import Constraints, ReactivityModel, RNAFolder, deigan_log_odds, read_reactivities


@pytest.mark.parametrize(
    "text",
    [
        "1 0.5\n2 -999\n4 1e-1\n",
        "# comment\n1\tA\t0.5\n2\tC\tNA\n\n4\tG\t0.1\n",
        "1 0.5 0.01\n2 nan 0.2\n4 0.1 0.3\n",
    ],
)
def test_tables(text):
    assert_array_equal(read_reactivities(io.StringIO(text))[""], [0.5, np.nan, np.nan, 0.1])


def test_many_sequences():
    found = read_reactivities(io.StringIO(">a first\nACGU\n0.1,NA\tnan 2\n>b\nNA\n>c\n1 2\n3\n"))
    assert list(found) == ["a", "b", "c"]
    assert_array_equal(found["a"], [0.1, np.nan, np.nan, 2.0])
    assert_array_equal(found["b"], [np.nan])
    assert_array_equal(found["c"], [1.0, 2.0, 3.0])


def test_lines_of_nothing_known_are_no_sequence():
    found = read_reactivities(io.StringIO(">a\nNA NA NA\n1 1\nACGUA\n>b\nna,NA\n"))
    assert_array_equal(found["a"], [np.nan] * 3 + [1.0, 1.0])
    assert_array_equal(found["b"], [np.nan] * 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<input>: the file has no reactivities"),
        ("1 0.1\n0 0.2\n", ":2: '0 0.2' is not a position"),
        ("1 0.1\n1 0.2\n", ":2: the position 1 occurs twice"),
        ("99999999999999 1\n", ":1: '99999999999999 1' is not a position"),
        ("1 x\n", ":1: 'x' is neither a reactivity nor NA"),
        ("one\n", ":1: 'one' is not a position"),
        (">a\n1 2 x3\n", ":2: 'x3' is neither a reactivity nor NA"),
        (">b\n1\n>a\nACGU\n0.1 0.2 0.3\n", ":3: 'a' has 4 letters and 3 reactivities"),
        (">a\n1\n>a\n1\n", ":3: the name 'a' occurs twice"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=message):
        read_reactivities(io.StringIO(text))


@pytest.mark.parametrize(
    "text",
    [
        "1 g 0.5\n2 T -999\n4 N 0.1\n",
        "1\t0.5\t0.1\tG\n2\t-999\t0\tu\n4\t0.1\t0\tn\n",
        ">\nGUNN\n0.5 NA nan 0.1\n",
    ],
)
def test_letters(text):
    ((values),) = read_reactivities(io.StringIO(text)).values()
    assert_array_equal(values, [0.5, np.nan, np.nan, 0.1])
    assert values.letters == "GUNN"
    model = ReactivityModel.pretrained()
    for sequence in ("GUAC", "gtac", "NUCC"):
        assert_array_equal(model.paired(sequence, values), model.paired(sequence, np.array(values)))
        assert_array_equal(deigan_log_odds(values, sequence=sequence), deigan_log_odds(values))
    told = r"or are shifted: base 2 \(from 1\) is U in their file and A in the sequence, and 1 of 4 letters"
    for refused in (
        lambda: model.paired("GACA", values),
        lambda: deigan_log_odds(values, sequence="GACA"),
        lambda: ReactivityModel.fit(None, ["GACA"], [values]),
    ):
        with pytest.raises(DataError, match=told):
            refused()


def test_pairs_and_sequences_are_no_reactivities():
    with pytest.raises(DataError, match="this BPSEQ file holds base pairs"):
        read_reactivities(io.StringIO("1 G 4\n2 A 0\n3 A 0\n4 C 1\n"))
    assert_array_equal(read_reactivities(io.StringIO("1 G 4\n2 A 0\n3 A 0\n4 C 2\n"))[""], [4, 0, 0, 2])
    with pytest.raises(DataError, match="there are names, but no reactivities below them"):
        read_reactivities(io.StringIO(">a\nACGU\n>b\n"))
    with pytest.raises(DataError, match="The file looks like RDAT: reactivities are read from tables"):
        read_reactivities(io.StringIO("RDAT_VERSION 0.34\nNAME x\n"))


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
    with pytest.raises(DataError, match=r"reactivities have shape \(3,\), but there are 2 bases"):
        table.paired("AC", [1, 2, 3])


def test_what_is_learned_is_what_was_simulated(folder, tmp_path):
    """Reactivities drawn from two densities; no structure is told, only the model that they come from."""
    rng = np.random.default_rng(0)
    sequences = [random_sequence(rng, 60) for _ in range(200)]
    reactivities = []
    for (structure,) in folder.sample(sequences, 1, 0):
        paired = np.array(list(structure)) != "."
        r = np.where(paired, rng.exponential(0.25, 60), rng.exponential(1.0, 60))
        reactivities.append(np.where(rng.random(60) < 0.1, np.nan, r))
    table = ReactivityModel.fit(folder, sequences, reactivities, rounds=5)
    for r in (0.1, 0.5, 1.0):
        expected = np.log(4.0) - 3.0 * r  # of the two densities
        assert_allclose(table.paired("ACGU", [r] * 4), expected, atol=0.5)
    table.save(tmp_path / "table.json")
    assert (tmp_path / "table.json").read_text().endswith("}\n")


def test_too_little_to_learn_from(folder):
    with pytest.raises(DataError, match="there are 2 reactivities of A; at least 32 are needed"):
        ReactivityModel.fit(folder, ["AACCGGUU"], [np.ones(8)])
    with pytest.raises(DataError, match=r"sequence 0: reactivities have shape \(3,\), but there are 8 bases"):
        ReactivityModel.fit(folder, ["AACCGGUU"], [np.ones(3)])
    with pytest.raises(DataError, match="there are 1 reactivities, but 2 sequences"):
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
