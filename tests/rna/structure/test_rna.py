"""RNA structures: laws by enumeration, parameters, fits."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import laws
import loss_laws
from memory_use import asked_and_taken, peak_of
from real_data import in_data_folder
from rnas import accuracy, partners, problem_of, problems, random_sequence
from structune import RNAFolder
from structune.errors import CapabilityError, DataError
from structune.rna.examples import Example
from structune.rna.fold_commands import Recipe
from structune.rna.formats.contrafold import read_contrafold
from structune.rna.formats.sequences import RNARecord
from structune.rna.options import Source, Wanted, Writing
from structune.rna.structure import rna
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.rna import RNA

MODELS = {
    "as papers have it": {},
    "any two bases pair": {"noncanonical": True},
    "extended": {"features": "extended"},
    "long loops": {"spread": True},
    "extended, long loops": {"spread": True, "features": "extended"},
    "two strands": {"two_strands": 0.8, "features": "extended"},
    "circles": {"circular": True, "features": "extended"},
    "circles, long loops": {"circular": True, "spread": True},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(("max_length", "scale"), [(13, 1.0), (11, 50.0)], ids=["", "extreme weights"])
@settings(max_examples=10)
@given(data=st.data())
def test_laws(options, max_length, scale, data):
    laws.hold(data.draw(problems(max_length=max_length, scale=scale, **options)))


@settings(max_examples=10)
@given(problem=problems() | problems(max_length=11, scale=50.0, spread=True, features="extended"))
def test_laws_of_losses(problem):
    loss_laws.hold(problem)


SIDES = [(0, 30), (30, 0), (31, 0), (0, 31), (15, 15), (16, 15), (1, 29), (30, 1), (28, 2), (10, 11), (8, 8)]


@pytest.mark.parametrize("kind", ["contrafold", "extended"])
def test_laws_at_the_limits_of_loops(kind):
    """An inner pair at these distances from the outer one: up to 30 unpaired bases it may be there."""
    rng = np.random.default_rng(0)
    sequences = ["AG" + "A" * left + "GAAAC" + "A" * right + "CA" for left, right in SIDES]
    problem = problem_of(RNA(features=kind), rng, sequences, 1.0)
    assert [len(ys) for ys in problem.outputs] == [6 - (sum(sides) > 30) for sides in SIDES]
    laws.hold(problem)


def test_parameters_by_name():
    rna = RNA()
    w = np.random.default_rng(0).normal(size=rna.n_weights)
    parameters = dict(zip(rna.weight_names()[::-1], w[::-1].tolist(), strict=True))
    assert_array_equal(rna.weights_from(parameters), w)
    del parameters["multi_base"]
    with pytest.raises(DataError, match="unknown parameters: colour; missing parameters: multi_base"):
        rna.weights_from({**parameters, "colour": 1.0})


def test_nothing_to_fold():
    """No sequences, and sequences without bases."""
    rna, rng = RNA(), np.random.default_rng(0)
    w, gradient = rng.normal(size=(2, rna.n_weights))
    for sequences in ([], ["", ""]):
        shard, before = rna.encode(sequences, sequences), gradient.copy()
        zeros = np.zeros(len(sequences))
        assert_array_equal(rna.log_partition(w, shard, gradient), zeros)
        assert_array_equal(gradient, before)
        assert_array_equal(rna.best(w, shard)[1], zeros)
        assert_array_equal(rna.best(w, shard, np.ones(len(sequences)))[1], zeros)
        assert_array_equal(rna.linearize(w, shard)(w), np.zeros(w.size))
        assert rna.sample(w, shard, 3, rng).shape == (3, 0)
        assert [scores.tolist() for _, scores in rna.n_best(w, shard, 3)] == [[0.0]] * len(sequences)
        assert rna.best_mea(w, shard, [1.0])[0].size == rna.best_centroid(w, shard).size == 0
        assert rna.feature_rows(shard).nnz == 0
        assert len(shard.take([])) == 0


def test_a_shard_without_structures_has_no_features():
    rna = RNA()
    with pytest.raises(DataError, match="no structures"):
        rna.feature_rows(rna.encode(["ACGU"]))


def test_settings_are_checked():
    for n in (-1, 2**63 - 1, 1.0, "3", None):
        with pytest.raises(DataError, match=r"min_hairpin=.*expected a whole number from 0"):
            RNA(n)
    with pytest.raises(DataError, match=r"features='all': expected one of \['contrafold', 'extended'\]"):
        RNA(features="all")


N = 700
SEQUENCE = "".join(np.random.default_rng(0).choice(list("ACGU"), N))
TWO = [SEQUENCE, SEQUENCE[1:]]
ASKED = {
    "structure": lambda folder: folder.predict(TWO),
    "most probable": lambda folder: folder.predict_viterbi(TWO),
    "several": lambda folder: folder.predict_nbest(TWO, 2),
    "samples": lambda folder: folder.sample(TWO, 2, random_state=0),
    "sum": lambda folder: folder.log_partition(TWO),
    "pairs": lambda folder: folder.pair_probabilities(SEQUENCE),
    "windows": lambda folder: folder.unpaired_windows(SEQUENCE, 8),
}


DRAWN = Writing(plot="a.png")
RECIPES = {
    "pairs": (Wanted(), Writing("pairs")),
    "samples": (Wanted(samples=3), DRAWN),
    "several": (Wanted(nbest=3), DRAWN),
    "windows": (Wanted(), Writing("bases", window=8)),
    "pseudoknots": (Wanted(pseudoknots=True), DRAWN),
}


@pytest.mark.parametrize("given", [None, Constraints(paired=np.linspace(-1.0, 1.0, N))], ids=["", "evidence"])
@pytest.mark.parametrize("asked", RECIPES.values(), ids=RECIPES)
def test_what_the_command_holds(asked, given):
    recipe = Recipe(RNAFolder.pretrained().set_params(n_jobs=1), Source(), *asked)
    example = Example(RNARecord("a", SEQUENCE), "file", given, np.random.default_rng(0))
    recipe.fold([example])  # kernels are compiled
    held, taken = recipe.memory_of(example), peak_of(lambda: recipe.fold([example]))
    assert 0.7 * taken < held < 1.3 * taken, (held / 1e6, taken / 1e6)


@pytest.mark.parametrize("span", [None, 300])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_tables(monkeypatch, ask, span):
    folder = RNAFolder.pretrained().set_params(max_span=span, n_jobs=1)
    asked, taken = asked_and_taken(monkeypatch, rna, lambda: ask(folder))
    assert 0.7 * taken < asked < 1.3 * taken, (asked / 1e6, taken / 1e6)


def enumerated(problem, s, size):
    free, scores = np.array(problem.outputs[s]) < 0, problem.scores[s]
    shares = np.exp(scores - scores.max())
    starts = range(problem.shard.sizes()[s] - size + 1)
    return np.array([shares[free[:, a : a + size].all(axis=1)].sum() for a in starts]) / shares.sum()


@settings(max_examples=25)
@given(problem=problems(noncanonical=True, features="extended") | problems(spread=True))
def test_windows_are_enumerated(problem):
    for s in range(len(problem.shard)):
        for size in (1, 2, 3, 4, 6, 30):
            found = problem.structure.unpaired_windows(problem.w, problem.shard, s, size)
            assert_allclose(found, enumerated(problem, s, size), atol=1e-9)


def test_windows_of_long_sequences_are_what_no_pair_covers():
    rng, rna = np.random.default_rng(0), RNA(max_span=40)
    w, shard = rng.normal(size=rna.n_weights), rna.encode([random_sequence(rng, 3000)])
    pairs = rna.pair_probabilities(w, shard, 0)
    free = 1.0 - (pairs + pairs.T).sum(axis=1)
    assert_allclose(rna.unpaired_windows(w, shard, 0, 1), free, atol=1e-9)


def test_windows_beside_pairs_that_must_be_are_refused():
    rna = RNA()
    shard = rna.encode(["GGGAAACCC"], constraints=["(.......)"])
    with pytest.raises(
        DataError, match=r"sequence 0: unpaired windows cannot be combined with bases that must pair"
    ):
        rna.unpaired_windows(np.zeros(rna.n_weights), shard, 0, 2)
    shard = rna.encode(["GGGAAACCC"])
    with pytest.raises(CapabilityError, match="weights as large as these"):
        rna.unpaired_windows(np.full(rna.n_weights, 1e3), shard, 0, 2)


def test_windows_of_sequences_whose_halves_differ():
    """Suffixes are raised often, and windows go over many of them."""
    rng, rna = np.random.default_rng(0), RNA(max_span=60)
    w = np.where([name.startswith("helix_stacking") for name in rna.weight_names()], 2.0, 0.0)
    shard = rna.encode([random_sequence(rng, 800, "GC") + "A" * 2500])
    for size in (900, 1500):
        found = rna.unpaired_windows(w, shard, 0, size)
        assert_allclose(found[800:], 1.0, rtol=1e-9)
        assert np.all((found >= 0.0) & (found <= 1.0))
    assert rna.unpaired_windows(w, shard, 0, 10**15).shape == (0,)


@pytest.fixture(scope="module")
def oracle():
    """A model, its weights, examples of what CONTRAfold says, and a shard of their sequences."""
    found = json.loads(in_data_folder("rna/contrafold_oracle.json").read_text())
    parameters = read_contrafold(in_data_folder("rna/contrafold.params.complementary"))
    shard = RNA().encode([example["sequence"] for example in found["examples"]])
    return RNA(), RNA().weights_from(parameters), found["examples"], shard


@pytest.mark.data
def test_log_partitions_of_the_oracle(oracle):
    rna, w, examples, shard = oracle
    for example, found in zip(examples, rna.log_partition(w, shard), strict=True):
        assert found == pytest.approx(example["log_partition"], abs=5e-3)
        if "log_partition_exact" in example:
            assert found == pytest.approx(example["log_partition_exact"], rel=1e-9, abs=1e-9)


@pytest.mark.data
def test_pair_probabilities_of_the_oracle(oracle):
    rna, w, examples, shard = oracle
    for s, example in enumerate(examples):
        expected = np.zeros((len(example["sequence"]),) * 2)
        for i, j, p in example["pair_probabilities"]:
            expected[i, j] = p
        assert_allclose(rna.pair_probabilities(w, shard, s), expected, atol=5e-3)


@pytest.mark.data
def test_best_structures_of_the_oracle(oracle):
    rna, w, examples, shard = oracle
    theirs = [[example[name] for example in examples] for name in ("sequence", "viterbi")]
    scores, (_, best) = rna.score(w, rna.encode(*theirs)), rna.best(w, shard)
    assert_allclose(best, scores, atol=5e-3)
    assert np.all(best >= scores - 1e-9)


@pytest.mark.data
def test_mea_structures_of_the_oracle(oracle):
    rna, w, examples, shard = oracle
    for gamma in (1, 6, 16):
        (found,) = rna.best_mea(w, shard, [gamma])
        for s, example in enumerate(examples):
            probabilities = rna.pair_probabilities(w, shard, s)
            mine = accuracy(probabilities, found[shard.offsets[s] : shard.offsets[s + 1]], gamma)
            other = accuracy(probabilities, partners(example["mea"][str(gamma)]), gamma)
            assert other - 1e-9 <= mine <= other + 5e-3 * len(example["sequence"])
