"""Predictions of long sequences in pieces, and of genes that ends of sequences cut."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

import simulated_genes as simulated
from structune import GeneFinder
from structune.genes import AnnotatedSequence, Hint, SkippedGenesWarning, Transcript
from structune.genes.eukaryotes import prediction
from structune.genes.eukaryotes.prediction import SearchedSequence, join_genes, pieces_of, within
from structune.running import Run

TEST = simulated.genome(1)


@pytest.fixture(scope="module")
def cut():
    """Sequences cut in the middle of an exon or intron, and what is left of the gene there."""
    found = []
    for each in TEST:
        for t in (t for t in each.transcripts if t.introns):
            for a, b in (*t.exons, *t.introns):
                middle = (a + b) // 2
                for start, end in ((0, middle), (middle, len(each.sequence))):
                    exons = within(t.exons, start, end)
                    if sum(d - c for c, d in exons) >= 60:
                        exons = tuple((c - start, d - start) for c, d in exons)
                        found.append((each, each.sequence[start:end], t, (start > 0, end == middle), exons))
    return found


def test_parts_of_genes_are_found_and_marked(finder, cut):
    predicted = finder.predict([text for _, text, *_ in cut])
    right = 0
    for (each, text, whole, partial, exons), genes in zip(cut, predicted, strict=True):
        for t in genes:
            if (t.strand, t.exons, t.partial) == (whole.strand, exons, partial):
                right += 1
                assert t.protein(text) in whole.protein(each.sequence)
                assert 0 < t.score <= 1
    assert len(cut) > 20
    assert right > 0.8 * len(cut)


def test_closed_sequences_have_whole_genes_alone(finder, cut):
    whole = [simulated.exons(genes) for genes in finder.predict(TEST)]
    closed = copy(finder).set_params(closed=True)
    for genes in closed.predict([text for _, text, *_ in cut]):
        assert not any(any(t.partial) for t in genes)
    assert whole == [simulated.exons(genes) for genes in closed.predict(TEST)]


def test_hints_keep_their_places(finder, cut):
    """And those beyond the end are not those of what is put there."""
    texts = [text for _, text, *_ in cut[:4]]
    far = [[Hint("c", "start", len(text) + k, len(text) + k + 3) for k in range(400)] for text in texts]
    with pytest.warns(UserWarning, match="1,600 beyond the end"):
        assert finder.predict(texts, hints=far, hint_weight=50) == finder.predict(texts)
    avoid = [[(t.start, t.end) for t in genes] for genes in finder.predict(texts)]
    for genes, spans in zip(finder.predict(texts, avoid=avoid), avoid, strict=True):
        assert all(b <= c or a >= d for t in genes for a, b in t.exons for c, d in spans)


def test_parts_of_genes_are_not_learned_from():
    """Though they begin with ATG and end with a stop codon."""
    marked = []
    for each in simulated.genome(0):
        first, *others = each.transcripts
        marked.append(replace(each, transcripts=(replace(first, partial=(True, False)), *others)))
    with pytest.warns(SkippedGenesWarning, match="6: incomplete"):
        GeneFinder(tuning=None, n_jobs=1, run=Run(max_iterations=1)).fit(marked)


@pytest.mark.parametrize("n", [0, 99, 100, 101, 180, 181, 1000])
def test_pieces_overlap(monkeypatch, n):
    monkeypatch.setattr(prediction, "_MOST", 100)
    monkeypatch.setattr(prediction, "_OVERLAP", 20)
    rng = np.random.default_rng(n)
    text, track = "".join(rng.choice(list("ACGT"), n)), rng.random((n, 1))
    each = SearchedSequence(AnnotatedSequence("c", text), text, 0, track, None)
    found = list(pieces_of(each))
    assert found[0].text + "".join(piece.text[20:] for piece in found[1:]) == text
    for piece in found:
        assert len(piece.text) <= 100
        assert piece.of is each
        assert text[piece.start :].startswith(piece.text)
        assert np.array_equal(piece.tracks, track[piece.start : piece.start + len(piece.text)])


def test_genes_are_those_of_the_whole(finder, monkeypatch):
    train = simulated.genome(0)
    text = "".join(each.sequence for each in train)
    (whole,) = finder.predict([text])
    monkeypatch.setattr(prediction, "_MOST", 1200)
    monkeypatch.setattr(prediction, "_OVERLAP", 600)
    (cut,) = finder.predict([text])
    assert simulated.exons(cut) == simulated.exons(whole)
    assert len(text) > 2400


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([(10, 30), (85, 92)], [(85, 92), (120, 140)], [(10, 30), (85, 92), (120, 140)]),
        ([(70, 90)], [(90, 110)], [(70, 90)]),  # the seam is between the genes, and near the middle
        ([(81, 84), (93, 97)], [(81, 85), (92, 98)], [(81, 84), (92, 98)]),
        ([(0, 200)], [(80, 130)], []),
    ],
)
def test_what_overlaps_is_taken_once(monkeypatch, before, after, expected):
    monkeypatch.setattr(prediction, "_OVERLAP", 20)
    found, more = ([Transcript("c", "+", (part,), "t", "g") for part in parts] for parts in (before, after))
    join_genes(found, more, 80)
    assert [each.exons for each in found] == [(part,) for part in expected]


def test_no_short_sequence_with_a_gene_is_left_out(monkeypatch):
    """Of all that may have been drawn, whatever a model thinks of genes."""
    finder = GeneFinder(tuning=None, n_jobs=1, run=Run(max_iterations=1)).fit(simulated.genome(0, 1))
    finder.coef_ = 30.0 * np.random.default_rng(0).normal(size=finder.coef_.size)
    sequences = ["".join(np.random.default_rng(k).choice(list("ATG"), k % 20)) for k in range(400)]
    found = finder.predict(sequences)
    monkeypatch.setattr(prediction, "may_have_gene", lambda *_: True)
    assert found == finder.predict(sequences)
    assert sum(map(len, found)) > 3
