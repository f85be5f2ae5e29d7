"""The gene finder without introns: fits, predictions that are genes, what is skipped, files, wrong input."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import simulated_orfs as simulated
import structune
from simulated_genes import exons, flip
from structune import MultitaskEstimator, ProkaryoticGeneFinder
from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.genes.data import load_genes
from structune.genes.formats.record import AnnotatedSequence, coding_problems
from structune.genes.metrics import gene_scores, stop_codons
from structune.genes.prokaryotes import prokaryotic_gene_finder
from structune.genes.prokaryotes.orf_finder import known_pieces
from structune.genes.prokaryotes.structure.candidates import STARTS
from structune.running import Run, memory

TRAIN, TEST = simulated.genome(0), simulated.genome(1, n_contigs=3)


def finder(**options):
    return ProkaryoticGeneFinder(**{"n_jobs": 1, "tuning": None, "penalty": 0.1, **options})


@pytest.fixture(scope="module")
def model():
    return finder().fit(TRAIN)


def same(a, b):
    return [exons(genes) for genes in a] == [exons(genes) for genes in b]


def test_predictions_are_genes(model):
    found = model.predict(TEST)
    assert model.status_ == "converged"
    assert not model.skipped_
    assert model.score(TEST) > 0.9
    assert {t.strand for genes in found for t in genes} == {"+", "-"}
    for sequence, genes in zip(TEST, found, strict=True):
        assert len({t.name for t in genes}) == len(genes) > 0
        assert [t.start for t in genes] == sorted(t.start for t in genes)
        for t in genes:
            assert t.contig == sequence.name
            assert 0.0 <= t.score <= 1.0
            if t.start >= 3 and t.end <= len(sequence.sequence) - 3:
                assert not coding_problems(t, sequence.sequence, 11, STARTS)


def test_the_other_strand_has_the_same_genes(model):
    texts = [each.sequence for each in TEST]
    turned = model.predict([flip(text) for text in texts])
    for text, genes, back in zip(texts, model.predict(texts), turned, strict=True):
        n = len(text)
        assert exons(genes) == [("+-"[t.strand == "+"], ((n - t.end, n - t.start),)) for t in reversed(back)]
        assert_allclose([t.score for t in genes], [t.score for t in reversed(back)], rtol=1e-9)


def test_genes_go_beyond_the_ends_of_a_contig(model):
    """But not of short or unknown sequences."""
    gene = TEST[0].transcripts[2]
    middle = TEST[0].sequence[gene.start + 21 : gene.end - 21]
    found = model.predict([middle])[0]
    assert exons(found) == [(gene.strand, ((0, len(middle)),))]
    for text in ("", "A", "ATGTAA", "N" * 1000, "ATG" * 400):
        for t in model.predict([text])[0]:
            assert 0 <= t.start < t.end <= len(text)


def test_unknown_bases_and_lower_case(model):
    text = TEST[0].sequence
    assert same(model.predict([text.lower().replace("t", "u")]), model.predict([text]))
    unknown = text[:400] + "NNRYSWKM" + text[408:]
    assert model.predict([unknown])[0]


def test_losses_of_wrong_ends_and_tuning():
    model = finder(loss="margin").fit(TRAIN)
    assert model.score(TEST) > 0.85
    assert {t.score for genes in model.predict(TEST) for t in genes} == {None}
    model = finder(tuning="implicit", penalty=None).fit(TRAIN)
    assert model.score(TEST) > 0.9
    penalty = dict(zip(model.group_names_, model.penalty_, strict=True))
    assert list(penalty) == ["codons", "hexamers", "starts", "ribosome site", "lengths", "context", "gaps"]
    assert len(set(penalty.values())) > 1


def test_tasks():
    """Their genes begin as annotated, whatever the setting of the finder."""
    genomes = {name: simulated.genome(k, n_contigs=15) for k, name in enumerate("ab")}
    data = {name: (genome, [each.transcripts for each in genome]) for name, genome in genomes.items()}
    estimator, options = ProkaryoticGeneFinder(n_jobs=1), {"gammas": [0.5], "factors": [1.0], "n_jobs": 1}
    model = MultitaskEstimator(estimator, ["a", "b"], run=Run(tolerance=0.1), **options).fit(data)
    assert [model.model(node).starts_ for node in model.nodes_] == [None] * 3
    assert model.score("a", TEST, [each.transcripts for each in TEST]) > 0.85


def test_penalties():
    """By default those of many genomes, as far as groups have their names."""
    model = finder(penalty=None).fit(TRAIN)
    assert model.score(TEST) > 0.9
    assert dict(zip(model.group_names_, model.penalty_, strict=True))["hexamers"] == 1000.0
    assert finder(penalty=None, groups="single").fit(TRAIN).penalty_.tolist() == [1.0]
    of_costs = finder(penalty=None, loss="ramp").fit(TRAIN)
    np.testing.assert_allclose(of_costs.penalty_, 10 * model.penalty_)
    assert finder(penalty=None, groups="single", loss="ramp").fit(TRAIN).penalty_.tolist() == [1.0]


@pytest.mark.data
@pytest.mark.parametrize("organism", ["m_tuberculosis", "h_salinarum"])
def test_the_pretrained_model_of_relatives(organism):
    whole = max(load_genes(organism), key=lambda each: len(each.sequence))
    text, genes = whole.sequence[:300_000], [t for t in whole.transcripts if t.end <= 300_000]
    model = ProkaryoticGeneFinder.pretrained([text])
    true, found = {whole.name: genes}, {whole.name: model.predict([text])[0]}
    assert gene_scores(stop_codons(true), stop_codons(found)).exon.f1 > 0.9
    assert not np.array_equal(model.coef_, ProkaryoticGeneFinder.pretrained().coef_)


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"code": 99}, TRAIN, "there is no genetic code 99"),
        ({}, ["ACGT"], "there are no genes to train on"),
        ({}, [AnnotatedSequence("c9", "ACGTJ", ())], "c9, position 5: 'J' is not a nucleotide"),
    ],
)
def test_wrong_input(options, X, message):
    with pytest.raises(DataError, match=message):
        finder(**options).fit(X)
    with pytest.raises(NotFittedError):
        finder().predict(["ACGT"])


def test_starts_are_learned_from_wrong_ones():
    """A fifth of the genes begin at another start codon, as annotations have it."""
    genome, rng = simulated.genome(11, n_contigs=30), np.random.default_rng(0)
    wrong = [replace(x, transcripts=tuple(moved(t, x, rng) for t in x.transcripts)) for x in genome]
    test = simulated.genome(12, n_contigs=5)
    learned, annotated = (finder(penalty=None, starts=how).fit(wrong) for how in ("learned", "annotated"))
    assert annotated.starts_ is None
    assert learned.score(test) >= annotated.score(test)
    assert learned.score(test) > 0.97
    with pytest.raises(DataError, match="starts='x': expected one of"):
        ProkaryoticGeneFinder(tuning=None, starts="x").fit(wrong)


def moved(t, each, rng):
    """A gene that begins at another of its codons for starts, if the draw says so and there is one."""
    coding = t.coding_sequence(each.sequence)
    others = [k for k in range(3, t.length - 93, 3) if coding[k : k + 3] in ("ATG", "GTG", "TTG")]
    if rng.random() > 0.2 or not others:
        return t
    k = int(rng.choice(others))
    return replace(t, exons=((t.start + k, t.end) if t.strand == "+" else (t.start, t.end - k),))


def test_predictions_do_not_depend_on_what_else_is_predicted(tmp_path):
    """Nor on the model's having been saved."""
    finder = ProkaryoticGeneFinder(tuning=None, n_jobs=1).fit(simulated.genome(11, n_contigs=30))
    assert finder.starts_ is not None
    test = [each.sequence[k : k + 400] for each in simulated.genome(12, n_contigs=4) for k in (0, 300, 700)]
    together = finder.predict(test)
    for of, text in zip(together, test, strict=True):
        (single,) = finder.predict([text])
        places = ([(t.exons, t.strand, t.partial) for t in some] for some in (of, single))
        assert next(places) == next(places)
        assert_allclose([t.score for t in of], [t.score for t in single], rtol=1e-9)
    path = tmp_path / "m.structune"
    finder.save(path)
    again = structune.load(path)
    assert (type(again), again.code) == (ProkaryoticGeneFinder, 11)
    assert again.group_names_ == finder.group_names_
    assert again.predict(test) == together
    header, arrays = read_model(path)
    save_model(path, "prokaryotic-genes", header, {**arrays, "coef": arrays["coef"][:-1]})
    with pytest.raises(ModelFileError):
        structune.load(path)


def test_ctrl_c_while_starts_are_learned(monkeypatch):
    monkeypatch.setattr(prokaryotic_gene_finder, "learn_starts", Mock(side_effect=KeyboardInterrupt))
    interrupted = finder().fit(TRAIN)
    assert interrupted.status_ == "interrupted"
    assert interrupted.score(TEST) > 0.9


def test_genes_keep_away_from_what_is_to_be_avoided(model):
    """But for twenty bases; genes whose later starts are clear of it stay."""
    genes = model.predict(TEST)
    spans = [[(t.start, t.start + 21) for t in of[:1]] + [(10**6, 10**6 + 9)] for of in genes]
    others = model.predict(TEST, avoid=spans)
    for of, found, ((a, b), _) in zip(genes, others, spans, strict=True):
        assert all(min(t.end, b) - max(t.start, a) <= 20 for t in found)
        assert exons(found)[-2:] == exons(of)[-2:]
    few = [[(a, a + 20) for a, _ in some] for some in spans]
    assert model.predict(TEST, avoid=few) == model.predict(TEST, avoid=[[]] * 3) == genes
    assert model.predict([""], avoid=[[(1, 2)]]) == [()]


def test_a_sequence_for_which_there_is_too_little_memory(model, monkeypatch):
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(DataError, match=r"chromosome: 3,000 bases need 0\.0 GB of memory, but only 0\.0 GB"):
        model.predict([AnnotatedSequence("chromosome", "ACG" * 1000, ())])
    several = [AnnotatedSequence(name, "ACG" * 1000, ()) for name in "abc"]
    with pytest.raises(DataError, match="a and 2 more: 9,000 bases need"):
        model.predict(several)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N" * 500, []),
        ("ACGT" + "N" * 9 + "ACGT", [(0, 17)]),
        ("ACGT" + "n" * 10 + "ACGT", [(0, 4), (14, 18)]),
        ("N" * 20 + "ACGT" + "NRYK" * 5, [(20, 24)]),
    ],
)
def test_pieces_between_gaps(text, expected):
    found = list(known_pieces([AnnotatedSequence("b", ""), AnnotatedSequence("c", text)]))
    assert [(piece.start, piece.start + piece.letters.size) for piece in found] == expected
    assert all(piece.sequence == 1 for piece in found)
