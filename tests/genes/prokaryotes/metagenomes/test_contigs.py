"""Words by the share of G and C."""

import numpy as np
from numpy.testing import assert_allclose

from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.metagenomes.contigs import Composition, gc_share, log_odds, log_words

WORDS = ["".join("ACGT"[k >> 2 * (5 - i) & 3] for i in range(6)) for k in range(4**6)]
OF_GC = np.array([sum(base in "GC" for base in word) for word in WORDS])


def random_words(share, rng):
    """Logs of words of independent bases, with weights of their own."""
    p = (share / 2) ** OF_GC * ((1 - share) / 2) ** (6 - OF_GC) * rng.uniform(0.9, 1.1, len(WORDS))
    return np.log(p / p.sum())


def test_words_follow_the_share():
    rng, shares = np.random.default_rng(0), np.array([0.3, 0.4, 0.5, 0.6, 0.7])
    genes, everywhere = (np.array([random_words(share, rng) for share in shares]) for _ in range(2))
    genes[:, 0] += np.log(30.0)  # AAAAAA
    found = Composition.fitted_to(genes, everywhere, shares)
    logs, background = found.at(0.45)
    assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    assert_allclose(np.exp(background).sum(), 1.0)
    expected = OF_GC * np.log(0.225) + (6 - OF_GC) * np.log(0.275)
    assert np.abs(background - expected).mean() < 0.1
    words, _ = log_odds(logs[0], background)
    assert words[0] > 1.5
    assert np.abs(words[1:]).mean() < 0.15


def test_organisms_have_words_of_their_own():
    rng, shares = np.random.default_rng(1), np.array([0.4, 0.5, 0.6])
    genes = np.array([random_words(share, rng) for share in shares])
    genes[1, 5] += np.log(20.0)
    found = Composition.fitted_to(genes, genes, shares)
    for share in (0.4, 0.5):
        logs = found.at(share)[0]
        assert logs[2, 5] > max(logs[1, 5], logs[3, 5]) + 1.0


def test_words_that_nobody_has_seen():
    """Counts are smoothed by those of codons."""
    counts = np.zeros(4096, np.int64)
    counts[[0, 5]] = 10**9, 10**9
    logs = log_words(counts)
    assert_allclose(np.exp(logs).sum(), 1.0, rtol=1e-6)
    assert logs.min() > -30.0
    assert np.isfinite(log_words(np.zeros(4096, np.int64))).all()


def test_log_odds():
    rng = np.random.default_rng(2)
    genes, everywhere = (np.log(rng.dirichlet(np.ones(4096))) for _ in range(2))
    words, amino_acids = log_odds(genes, everywhere)
    number = {word: k for k, word in enumerate(WORDS)}
    lysines = [number[a + b] for a in ("AAA", "AAG") for b in ("AAA", "AAG")]
    expected = np.log(np.exp(genes[lysines]).sum() / np.exp(everywhere[lysines]).sum())
    assert_allclose(amino_acids[lysines], expected, rtol=1e-4)
    assert words[number["AAAGCC"]] == genes[number["AAAGCC"]] - everywhere[number["AAAGCC"]]
    for odds in (words, amino_acids):
        assert odds.shape == (4097,)
        assert odds[-1] == odds[number["TGAAAA"]] == odds[number["GCATAA"]] == 0.0
    assert gc_share(encode_letters("GCgcATNNu", "")) == 4 / 7
    assert gc_share(encode_letters("NN", "")) == gc_share(encode_letters("", "")) == 0.5
