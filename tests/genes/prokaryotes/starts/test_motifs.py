"""Motifs before starts, against sums over all their places."""

import numpy as np
import pytest

from structune.genes.prokaryotes.starts.model import Motif

BACKGROUND = np.array([0.3, 0.2, 0.2, 0.3])
BEGIN, RNG = -12, np.random.default_rng(0)
LETTERS = RNG.integers(0, 5, (30, 12)).astype(np.int8)
PRIOR = Motif.of("AGN", -9, -6, 0.4, BACKGROUND)


def odds(motif, row):
    """Of the motif at each of its places."""
    out = []
    for a in range(len(motif.places)):
        window = row[motif.first - BEGIN + a :][: len(motif.bases)]
        ratios = [motif.bases[j, b] / BACKGROUND[b] if b < 4 else 1.0 for j, b in enumerate(window)]
        out.append(np.prod(ratios))
    return motif.places * out


def test_a_new_motif():
    np.testing.assert_allclose(PRIOR.bases.sum(axis=1), 1.0)
    np.testing.assert_allclose(PRIOR.bases[0], 0.3 * BACKGROUND + [0.7, 0, 0, 0])
    np.testing.assert_allclose(PRIOR.bases[2], BACKGROUND)
    np.testing.assert_allclose(PRIOR.places, np.full(4, 0.25))


def test_scores():
    expected = [np.log(0.6 + 0.4 * odds(PRIOR, row).sum()) for row in LETTERS]
    np.testing.assert_allclose(PRIOR.scores(LETTERS, BEGIN, BACKGROUND), expected)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_step_of_learning(fixed):
    used = RNG.random(30)
    bases, places = np.zeros((3, 4)), np.zeros(4)
    for row, weight in zip(LETTERS, used, strict=True):
        found = 0.4 * odds(PRIOR, row)
        for a, share in enumerate(weight * found / (0.6 + found.sum())):
            places[a] += share
            for j, b in enumerate(row[PRIOR.first - BEGIN + a :][:3]):
                if b < 4:
                    bases[j, b] += share
    bases += 8.0 * BACKGROUND + 0.2 * places.sum() * PRIOR.bases
    found = PRIOR.learned(LETTERS, BEGIN, BACKGROUND, used, PRIOR, fixed)
    np.testing.assert_allclose(found.bases, bases / bases.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.places, (places + 1) / (places.sum() + 4))
    assert found.share == pytest.approx(0.4 if fixed else (places.sum() + 1) / (used.sum() + 2))


def test_what_is_planted_is_found():
    letters = RNG.integers(0, 4, (2000, 12)).astype(np.int8)
    for row in letters[:1000]:
        row[4:7] = [0, 2, 3]  # AGT, two places behind the first one
    motif = PRIOR
    for _ in range(20):
        motif = motif.learned(letters, BEGIN, BACKGROUND, np.ones(2000), PRIOR, False)
    assert motif.bases.argmax(axis=1).tolist() == [0, 2, 3]
    assert motif.places.argmax() == 1
    assert 0.35 < motif.share < 0.65
