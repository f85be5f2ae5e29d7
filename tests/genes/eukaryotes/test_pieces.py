import numpy as np
import pytest

import simulated_genes as simulated
from simulated_genes import exons
from structune import GeneFinder
from structune.genes.eukaryotes import prediction
from structune.genes.eukaryotes.prediction import Gene, Piece, join_genes, may_have_gene, pieces_of


@pytest.mark.parametrize("n", [0, 1, 99, 100, 101, 180, 181, 1000])
def test_pieces_overlap(monkeypatch, n):
    monkeypatch.setattr(prediction, "_MOST", 100)
    monkeypatch.setattr(prediction, "_OVERLAP", 20)
    rng = np.random.default_rng(n)
    text, track = "".join(rng.choice(list("ACGT"), n)), rng.random((n, 1))
    found = list(pieces_of(3, text, track))
    assert found[0].text + "".join(piece.text[20:] for piece in found[1:]) == text
    assert all(len(piece.text) <= 100 and piece.sequence == 3 for piece in found)
    for piece in found:
        assert text[piece.start :].startswith(piece.text)
        assert np.array_equal(piece.tracks, track[piece.start : piece.start + len(piece.text)])


def test_genes_are_those_of_the_whole(monkeypatch):
    train = simulated.genome(0)
    finder = GeneFinder(n_jobs=1, penalty=0.1, features="paper").fit(train)
    text = "".join(each.sequence for each in train)
    (whole,) = finder.predict([text])
    monkeypatch.setattr(prediction, "_MOST", 1200)
    monkeypatch.setattr(prediction, "_OVERLAP", 600)
    (cut,) = finder.predict([text])
    assert exons(cut) == exons(whole)
    assert len(text) > 2400


def test_what_overlaps_is_taken_once(monkeypatch):
    monkeypatch.setattr(prediction, "_OVERLAP", 20)
    gene = Gene("+", ((85, 92),), 0.5)
    found = [Gene("-", ((10, 30),), None), gene]
    join_genes(found, [gene.moved(-80), Gene("+", ((40, 60),), 1.0)], Piece(0, 80, "", None))
    assert [each.exons for each in found] == [((10, 30),), ((85, 92),), ((120, 140),)]
    near = [Gene("+", ((70, 90),), None)]  # the seam is between the genes, and near the middle
    join_genes(near, [Gene("+", ((10, 30),), None)], Piece(0, 80, "", None))
    assert [each.exons for each in near] == [((70, 90),)]
    both = [Gene("+", ((81, 84),), None), Gene("+", ((93, 97),), None)]
    join_genes(both, [Gene("+", ((1, 5),), None), Gene("+", ((12, 18),), None)], Piece(0, 80, "", None))
    assert [each.exons for each in both] == [((81, 84),), ((92, 98),)]
    across = [Gene("+", ((0, 200),), None)]
    join_genes(across, [Gene("+", ((0, 50),), None)], Piece(0, 80, "", None))
    assert across == []


@pytest.mark.parametrize("text", ["ATGTAA", "atgccuga", "TTACAT", "TCANNNCAT", "A" * 10])
def test_short_pieces_that_may_have_a_gene(text):
    assert may_have_gene(text, 4)


@pytest.mark.parametrize("text", ["", "ATG", "TAA", "ATGCAT", "TTATAA", "A" * 9])
def test_short_pieces_that_have_none(text):
    assert not may_have_gene(text, 4)


def test_no_short_sequence_with_a_gene_is_left_out(monkeypatch):
    """Of all that may have been drawn, whatever a model thinks of genes."""
    finder = GeneFinder(penalty=0.1).fit(simulated.genome(0, 2))
    finder.coef_ = 30.0 * np.random.default_rng(0).normal(size=finder.coef_.size)
    sequences = ["".join(np.random.default_rng(k).choice(list("ATG"), k % 20)) for k in range(400)]
    found = finder.predict(sequences)
    monkeypatch.setattr(prediction, "may_have_gene", lambda *_: True)
    assert found == finder.predict(sequences)
    assert sum(map(len, found)) > 3
