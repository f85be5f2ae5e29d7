"""Contigs of many organisms: what is learned from others, words of a contig's own, files, wrong input."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import simulated_orfs as simulated
from simulated_genes import CODONS, exons, letters
from structune import MetagenomeFinder, MultitaskEstimator, load
from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.genes import AnnotatedSequence
from structune.genes.examples import SkippedGenesWarning
from structune.genes.formats.record import Skipped, coding_problems
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.metagenomes import contigs
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.structure.candidates import STARTS
from structune.learning.tuning import ImplicitTuner
from structune.running import Run

OTHER = ["AAA", "GAA", "TTA", "ATT", "AAT", "TTT", "ACA", "TCA"]
GENOMES = [simulated.genome(k, **({"codons": OTHER} if k % 2 else {})) for k in range(4)]
TRAIN, ORGANISMS = [each for genome in GENOMES for each in genome], np.repeat(range(4), 4)
NEAR, FAR = simulated.genome(11, n_contigs=3), simulated.genome(12, codons=OTHER, n_contigs=3)


@pytest.fixture(scope="module", autouse=True)
def few_pieces():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contigs, "_SIZES", {250: 40, 500: 25, 1000: 12, 3000: 5})
        yield


@pytest.fixture(scope="module")
def finder(few_pieces):
    return MetagenomeFinder(n_jobs=1).fit(TRAIN, groups=ORGANISMS)


def test_contigs_of_several_organisms(finder):
    mixed = [contig for pair in zip(NEAR, FAR, strict=True) for contig in pair]
    found = finder.predict(mixed)
    assert finder.status_ == "converged"
    assert finder.score(mixed) > 0.9
    assert [exons(genes) for genes in found] == [exons(finder.predict([each])[0]) for each in mixed]
    assert finder.set_params(n_jobs=2).predict(mixed) == found
    for contig, genes in zip(mixed, found, strict=True):
        for t in genes:
            assert 0.0 <= t.score <= 1.0
            assert any(t.partial) or not coding_problems(t, contig.sequence, 11, STARTS)
    clear = finder.predict(mixed, avoid=[[(0, len(each.sequence))] for each in mixed])
    assert clear == [()] * len(mixed)


def test_short_pieces_of_long_genes(finder):
    """They begin and end beyond; what is between genes has none."""
    gene, rng = simulated.gene(np.random.default_rng(5), CODONS), np.random.default_rng(6)
    inside, between = gene[10 : 10 + 3 * 31], letters(rng, 90)
    ((found,), others) = finder.predict([inside, between])
    assert found.partial == (True, True)
    assert found.strand == "+"
    assert found.start == (-10) % 3
    assert others == ()


def test_letters_that_are_not_known_count_for_nothing(finder):
    assert finder.predict([]) == []
    assert finder.predict(["", "A", "N" * 500]) == [(), (), ()]
    text = NEAR[0].sequence
    behind, alone = finder.predict(["N" * 20 + text, text])
    assert [(t.start - 20, t.end - 20, t.score) for t in behind] == [(t.start, t.end, t.score) for t in alone]


def test_other_codes():
    """Words that are stops by the usual code tell nothing."""
    finder = MetagenomeFinder.pretrained().set_params(closed=True, n_jobs=1)
    assert (len(finder.composition_.own), finder.code) == (13, 11)
    gene = "TAAGGAGGTGATCAT" + "ATG" + "GCCGAAGATCTGAAAGGCTGACGTGAA" * 12 + "TAA" + "TTTA"
    ((found,),) = finder.with_code(4).predict([gene])
    assert (found.start, found.end, found.strand) == (15, len(gene) - 4, "+")
    assert finder.with_code(4).code == 4
    assert all(t.end != len(gene) - 4 or t.strand == "-" for t in finder.predict([gene])[0])


def test_organisms(finder):
    """Each sequence is one of its own, or those of a group are."""
    assert len(finder.composition_.own) == 4
    alone = MetagenomeFinder(n_jobs=1, run=Run(max_iterations=1))
    with pytest.warns(UserWarning, match="not converged"):
        alone.fit([genome[0] for genome in GENOMES])
    assert len(alone.composition_.own) == 4
    with pytest.raises(DataError, match="needs at least 3 organisms, but there are 2"):
        MetagenomeFinder().fit(TRAIN[:2])
    with pytest.raises(DataError, match="bare: there are no genes to train on"):
        MetagenomeFinder().fit([*TRAIN, AnnotatedSequence("bare", "ACGT" * 100)])


def test_genes_that_are_not_known_well_are_left_out():
    wrong = [replace(each, skipped=(Skipped(each.name, "x", "why", (0, 40)),)) for each in TRAIN]
    with pytest.warns(SkippedGenesWarning, match="why"):
        model = MetagenomeFinder(n_jobs=1).fit(wrong, groups=ORGANISMS)
    assert len(model.skipped_) == len(TRAIN)
    assert model.score(NEAR) > 0.9


def test_the_same_pieces_are_drawn_again(finder):
    again = MetagenomeFinder(n_jobs=1, warm_start=True).fit(TRAIN, groups=ORGANISMS)
    assert_allclose(again.coef_, finder.coef_)
    other = MetagenomeFinder(n_jobs=1, random_state=1).fit(TRAIN, groups=ORGANISMS)
    assert not np.allclose(other.coef_, finder.coef_)
    cold = again.passes_
    assert again.fit(TRAIN, groups=ORGANISMS).passes_ < cold


def test_losses_of_starts_and_stops(monkeypatch):
    monkeypatch.setattr(contigs, "_SIZES", {250: 20, 1000: 10})
    model = MetagenomeFinder(n_jobs=1, loss="ramp", penalty=0.1).fit(TRAIN, groups=ORGANISMS)
    assert model.score(NEAR) > 0.9
    assert all(t.score is None for genes in model.predict(NEAR) for t in genes)


@pytest.mark.filterwarnings("ignore:tuning has not converged")  # a whole search takes a minute
def test_tuning(monkeypatch):
    monkeypatch.setattr(contigs, "_SIZES", {1000: 10})
    tuner = ImplicitTuner(max_evaluations=2, fit_tolerance=1e-1)
    tuned = MetagenomeFinder(n_jobs=1, tuning=tuner, run=Run(tolerance=1e-2)).fit(TRAIN, groups=ORGANISMS)
    assert tuned.score(NEAR) > 0.8
    assert set(tuned.group_names_) >= {"words", "ends", "gaps"}


def test_fits_that_are_stopped(finder, tmp_path, monkeypatch):
    """Of two fits: a stop ends both, and the second goes on from its checkpoint."""
    path = tmp_path / "c"
    options, short = {"n_jobs": 1, "run": Run(checkpoint=path)}, Run(None, 1e-9, path)
    first = MetagenomeFinder(n_jobs=1, run=short).fit(TRAIN, groups=ORGANISMS)
    assert first.status_ == "budget"
    assert not path.exists()
    learn, calls = MetagenomeFinder._learn, []

    def stopped(self, *args):
        calls.append(self.run.checkpoint)
        self.run = short if len(calls) == 2 else self.run
        return learn(self, *args)

    monkeypatch.setattr(MetagenomeFinder, "_learn", stopped)
    second = MetagenomeFinder(**options).fit(TRAIN, groups=ORGANISMS)
    assert (second.status_, calls) == ("budget", [None, path])
    assert path.exists()
    monkeypatch.undo()
    whole = MetagenomeFinder(**options).fit(TRAIN, groups=ORGANISMS)
    assert whole.status_ == "converged"
    assert_allclose(whole.coef_, finder.coef_, rtol=1e-6, atol=1e-9)


def test_files(finder, tmp_path):
    finder.save(tmp_path / "m.structune")
    loaded = load(tmp_path / "m.structune").set_params(n_jobs=1)
    assert loaded.predict(FAR) == finder.set_params(n_jobs=1).predict(FAR)
    header, arrays = read_model(tmp_path / "m.structune")
    for name, value, message in [
        ("words_own", np.zeros((4, 5)), "the array 'words_own' has shape"),
        ("words_genes", np.full((2, 4096), 1e3), "log-probabilities of words exceed 50"),
    ]:
        save_model(tmp_path / "bad", "metagenomes", header, {**arrays, name: value})
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "bad")


def test_what_it_cannot(finder, tmp_path):
    with pytest.raises(NotFittedError):
        MetagenomeFinder().predict(NEAR)
    with pytest.raises(CapabilityError, match="does not train on folders of shards"):
        MetagenomeFinder().fit_shards(tmp_path)
    with pytest.raises(CapabilityError, match="cannot be trained on a tree of tasks"):
        MultitaskEstimator(finder, ["a", "b"]).fit({"a": (TRAIN, None), "b": (TRAIN, None)})


def test_starts_are_chosen_as_in_the_organism_that_a_contig_is_like(tmp_path):
    genomes = [simulated.genome(k, 30, **({"codons": OTHER} if k == 1 else {})) for k in range(3)]
    model = MetagenomeFinder(n_jobs=1, run=Run(max_iterations=5), penalty=10.0)
    with pytest.warns(UserWarning, match="not converged"):
        model.fit([each for genome in genomes for each in genome], groups=np.repeat(range(3), 30))
    assert all(model.starts_)
    (genes,) = model.predict(FAR[:1])
    letters_ = [encode_letters(FAR[0].sequence, "")]
    shard = model.completed(model.graph_.of_letters(letters_, is_open=True), letters_)
    (k,) = shard.organism
    chosen, scores = OrfFinder._found(model, shard)
    words = shard.columns @ model.graph_.part(model.coef_, "words")
    expected, scores = model.starts_[k].found(model.graph_, shard, chosen, scores, True, words)
    assert sorted(t.score for t in genes) == sorted(scores[expected > 0].tolist())
    model.save(tmp_path / "m.structune")
    assert load(tmp_path / "m.structune").set_params(n_jobs=1).predict(FAR[:1]) == [genes]
