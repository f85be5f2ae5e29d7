"""Short pairs at once are what each is by itself."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune import SequenceAligner
from structune.alignment.structure import inference
from structune.running import Run

GAMMAS = (0.0, 0.3, np.inf)


def drawn(n, longest, letters="ARNDCQEGHILKMFPSTWYV"):
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, longest + 1, (n, 2)).tolist()
    return [tuple("".join(rng.choice(list(letters), k)) for k in pair) for pair in sizes]


def each(structure, w, shard, gamma):
    found = [inference.most_accurate(pair, gamma) for _, pair in structure._pairs(w, shard)]
    return np.concatenate(found)


def assert_as_accurate(structure, w, shard, gamma, partners, expected):
    """The same alignments, or others of the same expected accuracy: symmetric ones tie but for roundings."""
    for p in range(len(shard)):
        of = slice(shard.starts[p], shard.starts[p + 1])
        if np.array_equal(partners[of], expected[of]):
            continue
        table = structure.posterior(w, shard, p)
        free = (1.0 - table.sum(axis=1))[:, None] + 1.0 - table.sum(axis=0)
        gains = table - free / (2.0 * gamma)
        a, b = (gains[x := np.flatnonzero(y >= 0), y[x]].sum() for y in (partners[of], expected[of]))
        assert a == pytest.approx(b, rel=1e-9), p


@pytest.fixture(scope="module", params=["protein", "matrix", "nucleotide"])
def aligner(request):
    if request.param == "matrix":
        return SequenceAligner.from_matrix()
    if request.param == "protein":
        return SequenceAligner.pretrained()
    rows = [("ACGU-ACG", "ACGUUACG"), ("GGCA", "GG-A")] * 3
    pairs = [tuple(row.replace("-", "") for row in both) for both in rows]
    return SequenceAligner(alphabet="nucleotide", overhangs="one", run=Run(max_iterations=3)).fit(pairs, rows)


@pytest.mark.filterwarnings("ignore:the fit has not converged")
@pytest.mark.parametrize("gamma", GAMMAS)
def test_all_at_once(aligner, gamma):
    pairs = drawn(40, 30, "ACGU" if aligner.alphabet == "nucleotide" else "ARNDCQEGHILKMFPSTWYV")
    structure, w = aligner._structure, aligner.coef_
    shard = structure.encode([*pairs, ("A" * 70, "A" * 3), ("", "A"), pairs[0]])
    partners, left = structure._best_accuracy_of_short(w, shard, gamma)
    assert left.tolist() == [40]
    expected = each(structure, w, shard, gamma)
    assert_as_accurate(structure, w, shard, gamma, structure.best_accuracy(w, shard, gamma), expected)
    is_short = np.repeat(np.arange(len(shard)) != 40, shard.lengths[:, 0])
    partners[~is_short] = expected[~is_short]
    assert_as_accurate(structure, w, shard, gamma, partners, expected)


def test_what_leaves_the_range_is_left(monkeypatch):
    aligner = SequenceAligner.pretrained()
    structure, w = aligner._structure, aligner.coef_
    shard = structure.encode(drawn(40, 60))
    expected = each(structure, 12.0 * w, shard, 1.0)
    found = structure.best_accuracy(12.0 * w, shard, 1.0)
    assert_as_accurate(structure, 12.0 * w, shard, 1.0, found, expected)
    _, left = structure._best_accuracy_of_short(1e3 * w, shard, 1.0)
    assert_array_equal(left, np.arange(40))
    monkeypatch.setattr(inference, "LOST", 0.0)
    _, left = structure._best_accuracy_of_short(w, shard, 1.0)
    assert left.size > 30
    assert_array_equal(structure.best_accuracy(w, shard, 1.0), each(structure, w, shard, 1.0))
