"""Genes that ends of sequences cut: their parts are found and marked, without invented exons."""

from dataclasses import replace

import numpy as np
import pytest

import simulated_genes as simulated
from structune import GeneFinder
from structune.genes import Hint, SkippedGenesWarning
from structune.genes.eukaryotes.prediction import within
from structune.running import Run

TEST = simulated.genome(1)


@pytest.fixture(scope="module")
def finder():
    return GeneFinder(n_jobs=1, penalty=0.1).fit(simulated.genome(0))


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
    closed = GeneFinder(n_jobs=1, penalty=0.1, closed=True).fit(simulated.genome(0))
    for genes in closed.predict([text for _, text, *_ in cut]):
        assert not any(any(t.partial) for t in genes)
    whole = [simulated.exons(genes) for genes in finder.predict(TEST)]
    assert whole == [simulated.exons(genes) for genes in closed.predict(TEST)]


def test_sequences_without_bases_have_no_parts_of_genes(finder):
    assert finder.predict(["", "N" * 5000, "ACGT" * 10]) == [(), (), ()]


def test_hints_keep_their_places(finder, cut):
    """And those beyond the end are not those of what is put there."""
    texts = [text for _, text, *_ in cut[:4]]
    far = [[Hint("c", "start", len(text) + k, len(text) + k + 3) for k in range(400)] for text in texts]
    with pytest.warns(UserWarning, match="1,600 beyond the end"):
        assert finder.predict(texts, hints=far, hint_weight=50) == finder.predict(texts)
    avoid = [[(t.start, t.end) for t in genes] for genes in finder.predict(texts)]
    for genes, spans in zip(finder.predict(texts, avoid=avoid), avoid, strict=True):
        assert all(b <= c or a >= d for t in genes for a, b in t.exons for c, d in spans)


def test_tracks(cut):
    """Numbers of the ends count for nothing."""
    train = simulated.genome(0)
    tracks = [np.ones((len(each.sequence), 1)) for each in train]
    finder = GeneFinder(n_jobs=1, penalty=0.1, run=Run(max_iterations=3)).fit(train, tracks=tracks)
    texts = [text for _, text, *_ in cut[:4]]
    assert len(finder.predict(texts, tracks=[np.ones((len(text), 1)) for text in texts])) == 4


def test_parts_of_genes_are_not_learned_from():
    """Though they begin with ATG and end with a stop codon."""
    train = simulated.genome(0)
    marked = [
        replace(
            each, transcripts=(replace(each.transcripts[0], partial=(True, False)), *each.transcripts[1:])
        )
        for each in train
    ]
    with pytest.warns(SkippedGenesWarning, match="6: not whole"):
        GeneFinder(n_jobs=1, run=Run(max_iterations=1)).fit(marked)
