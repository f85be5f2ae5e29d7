"""Genomes without annotation: which model is nearest, and what self-training gains."""

import warnings
from copy import copy
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import simulated_orfs as simulated
from simulated_genes import CODONS, exons, letters
from structune import (
    MetagenomeFinder,
    MultitaskEstimator,
    ProkaryoticGeneFinder,
    SequenceTagger,
    adapt,
    nearest_node,
)
from structune.errors import CapabilityError, DataError
from structune.genes import LittleToLearnWarning, suited_code
from structune.genes.metrics import gene_scores
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes import adaptation as genome_adaptation
from structune.genes.prokaryotes import orf_finder
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.running import Run

pytestmark = pytest.mark.filterwarnings("ignore::structune.genes.LittleToLearnWarning")
OTHER = ["AAA", "GAA", "TTA", "ATT", "AAT", "TTT", "ACA", "TCA"]
HALF = [*CODONS[:4], *OTHER[:4]]
KNOWN, NEW = simulated.genome(0), simulated.genome(1, codons=HALF, n_contigs=20)
FAR = simulated.genome(2, codons=OTHER)


@pytest.fixture(scope="module")
def finder():
    return ProkaryoticGeneFinder(tuning=None, n_jobs=1).fit(KNOWN)


@pytest.fixture(scope="module")
def tree():
    genomes = {"a": KNOWN, "b": simulated.genome(4, n_contigs=2)}
    genomes |= {"c": FAR, "d": simulated.genome(5, codons=OTHER, n_contigs=2)}
    data = {name: (genome, [each.transcripts for each in genome]) for name, genome in genomes.items()}
    options = {"gammas": [0.0], "factors": [1.0], "n_jobs": 1}
    names = {"root": {"near": ["a", "b"], "far": ["c", "d"]}}
    return MultitaskEstimator(ProkaryoticGeneFinder(n_jobs=1), names, **options).fit(data)


def test_self_training_gains(finder):
    weights = finder.coef_.copy()
    before, after = finder.score(NEW), adapt(finder, [each.sequence for each in NEW]).score(NEW)
    assert after > before + 0.01
    np.testing.assert_array_equal(finder.coef_, weights)


def test_penalties_are_the_default_ones():
    """Of kinds of weights, however the finder was tuned; other settings are those of the finder."""
    options = {"groups": "single", "penalty": 100.0, "run": Run(max_seconds=60.0)}
    one = ProkaryoticGeneFinder(n_jobs=1, **options).fit(KNOWN)
    found = adapt(one, NEW[:2], rounds=1)
    assert found.loss == "log"
    assert dict(zip(found.group_names_, found.penalty_, strict=True))["hexamers"] == 1000.0
    assert (found.warm_start, found.run) == (False, one.run)
    assert (one.loss, one.warm_start, one.groups) == ("log", False, "single")


def test_rounds_by_the_ramp_loss_and_one_by_the_log_loss(finder, monkeypatch):
    """Each from the genes that the one before finds, and warm."""
    fit, losses, taught, found = ProkaryoticGeneFinder.fit_known, [], [], [genes_by(finder)]

    def watched(self, shard):
        losses.append((self.loss, self.warm_start))
        taught.append(shard.chosen)
        fit(self, shard)
        found.append(genes_by(self))
        return self

    monkeypatch.setattr(ProkaryoticGeneFinder, "fit_known", watched)
    adapt(finder, NEW[:4], rounds=2)
    assert losses == [("ramp", True), ("ramp", True), ("log", True)]
    np.testing.assert_array_equal(taught, found[:-1])
    del losses[:]
    adapt(finder, NEW[:10], rounds=20)  # they end when little is new
    assert 3 <= len(losses) < 20


def genes_by(finder):
    """The candidates of the new genome that are genes."""
    shard = finder.graph_.encode([each.sequence for each in NEW[:4]], is_open=True)
    return finder.graph_.best(finder.coef_, shard)[0]


def test_where_genes_begin_is_learned_if_there_are_enough(finder):
    assert adapt(finder, NEW[:4], rounds=1).starts_ is None
    found = adapt(finder, simulated.genome(7, n_contigs=40), rounds=1)
    assert found.starts_ is not None
    test = simulated.genome(8, n_contigs=5)
    known = {(t.contig, t.exons) for each in test for t in each.transcripts}
    genes = [t for of in found.predict(test) for t in of if not any(t.partial)]
    assert np.mean([(t.contig, t.exons) in known for t in genes]) > 0.95
    assert all(0.0 <= t.score <= 1.0 for t in genes)


def test_large_genomes_are_learned_from_in_parts(finder, monkeypatch):
    """Of the same length altogether, from everywhere, in contigs or not; where genes begin from all genes."""
    contigs = [each.sequence for each in simulated.genome(7, n_contigs=40)]
    n, taught, fit = sum(map(len, contigs)), [], ProkaryoticGeneFinder.fit_known
    monkeypatch.setattr(genome_adaptation, "_LESSON", n // 4)
    monkeypatch.setattr(
        ProkaryoticGeneFinder, "fit_known", lambda self, shard: taught.append(shard) or fit(self, shard)
    )
    test = simulated.genome(8, n_contigs=5)
    for genome in (contigs, ["".join(contigs)]):
        found = adapt(finder, genome, rounds=2)
        assert found.score(test) > 0.95
        assert all(abs(shard.n_parts - n // 4) < 7 for shard in taught)
        assert found.starts_ is not None
        assert all(np.count_nonzero(shard.chosen) < 200 for shard in taught)
    assert (len(taught[0]) > 7, len(taught[-1])) == (True, 7)


def test_short_contigs_are_learned_from_with_the_genes_that_go_on_beyond_them(finder, monkeypatch):
    """Most do. Where they begin is learned only from others, all possible starts of which are seen."""
    pieces, known = [], {}
    for each in simulated.genome(1, codons=HALF, n_contigs=60):
        for a in range(0, len(each.sequence), 180):
            seen = [((max(t.start - a, 0), min(t.end - a, 180)), t) for t in each.transcripts]
            known[str(len(pieces))] = [replace(t, exons=(span,)) for span, t in seen if span[0] < span[1]]
            pieces.append(each.sequence[a : a + 180])
    taught = []
    monkeypatch.setattr(
        genome_adaptation, "learn_starts", lambda shard, genes, letters: taught.append((shard, genes))
    )
    both = [by.predict(pieces) for by in (finder, adapt(finder, pieces))]
    before, after = (gene_scores(known, {str(k): of for k, of in enumerate(found)}) for found in both)
    assert after.nucleotide.f1 > before.nucleotide.f1
    ((shard, genes),) = taught
    n, (start, end) = shard.by_candidate(shard.n_bases), shard.bounds.T
    assert genes.any()
    assert np.where(shard.reverse, n - end, start)[genes > 0].min() > 2
    assert not shard.frame_sums(genes)[np.where(shard.reverse, n - end, start) < 3].any()


def test_of_too_little_to_learn_from_it_warns(finder):
    enough, shorter = ["ACGT" * 250] * 200, ["ACGT" * 125] * 2000
    for genome in (enough[1:], shorter[1:], ["ACGT" * 124] * 3000):
        told = f"adapting to {sum(map(len, genome)):,} bases may find fewer"
        with pytest.warns(LittleToLearnWarning, match=told):
            genome_adaptation._warn_of_little([encode_letters(text, "") for text in genome])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for genome in (enough, shorter):
            genome_adaptation._warn_of_little([encode_letters(text, "") for text in genome])
    with pytest.warns(LittleToLearnWarning):
        adapt(finder, NEW[:2], rounds=1)


def test_ctrl_c_ends_all_rounds(finder):
    def fit(self, shard):
        self.status_ = "interrupted"

    watched = patch.object(ProkaryoticGeneFinder, "fit_known", autospec=True, side_effect=fit)
    with watched as fits, pytest.raises(KeyboardInterrupt):
        adapt(finder, NEW[:1])
    fits.assert_called_once()


def test_annotation_is_not_looked_at(finder):
    texts = [each.sequence for each in NEW[:5]]
    a, b = (adapt(finder, genome, rounds=1).predict(texts) for genome in (texts, NEW[:5]))
    assert [exons(of) for of in a] == [exons(of) for of in b]


@pytest.mark.parametrize(("codons", "far"), [(CODONS, "c"), (OTHER, "a")])
def test_the_nearest_node(tree, codons, far):
    genome = simulated.genome(3, codons=codons)
    scores = {node: tree.model(node).score(genome) for node in tree.nodes_}
    assert scores[nearest_node(tree, genome)] > 0.95
    assert scores[far] < 0.7


def test_models_are_told_apart_by_so_many_bases(tree, monkeypatch):
    seen, encode = [], OrfGraph.of_letters
    monkeypatch.setattr(orf_finder, "ENOUGH", 1000)

    def watched(self, some, **options):
        seen.append(some)
        return encode(self, some, **options)

    monkeypatch.setattr(OrfGraph, "of_letters", watched)
    nearest_node(tree, ["A" * 300, "C" * 600, "G" * 200])
    nearest_node(tree, ["A", "ACGT" * 500])
    texts = [["".join("ACGT"[k] for k in part) for part in some] for some in seen]
    assert texts == [["C" * 600, "A" * 300, "G" * 100], ["ACGT" * 250]]


def test_from_a_finder_for_metagenomes():
    """Its settings stay, and what it is in doubt of is learned from, too."""
    finder = MetagenomeFinder.pretrained().set_params(n_jobs=1, closed=True, run=Run(max_iterations=50))
    with patch.object(OrfGraph, "of_letters", autospec=True, side_effect=OrfGraph.of_letters) as encode:
        adapted = adapt(finder, NEW)
    assert {call.kwargs["is_open"] for call in encode.call_args_list} == {False}
    assert isinstance(adapted, ProkaryoticGeneFinder)
    assert (adapted.code, adapted.closed, adapted.loss) == (11, True, "log")
    assert adapted.run == finder.run
    assert adapted.score(NEW) > max(0.95, finder.score(NEW) - 0.01)
    texts = [letters(np.random.default_rng(k), 30_000) for k in range(10)]
    shard, given = adapted.graph_.encode(texts), [encode_letters(text, "") for text in texts]
    sure, _ = finder._found(finder.completed(shard, given))
    assert sure.sum() < genome_adaptation._first_genes(finder, shard, given).sum()


@pytest.mark.parametrize(
    ("own", "sure", "suits"),
    [
        (11, {11: 0.70, 4: 0.66}, 11),  # of Escherichia coli, by a finder for metagenomes
        (25, {25: 0.66, 11: 0.70, 4: 0.66}, 11),
        (22, {22: 0.75, 11: 0.77, 4: 0.62}, 22),  # Pseudomonas aeruginosa: no evidence
        (4, {11: 0.70, 4: 0.69}, 4),  # of short contigs as many
        (11, {11: 0.39, 4: 0.69}, 4),  # with TGA in place of TGG
        (11, {11: 0.18, 4: 0.23}, 11),  # a fly
    ],
)
def test_which_code_suits(finder, monkeypatch, own, sure, suits):
    monkeypatch.setattr(
        orf_finder, "_surest", lambda _, sample, code: ("", sure[code] * sum(map(len, sample)))
    )
    given, enough = finder.with_code(own), ["ACGT" * 12_500]
    assert suited_code(given, enough) == suits
    found = orf_finder.surer_code(given, enough)
    assert found is None if suits == own else found == (suits, pytest.approx(sure[suits] / sure[own]))
    assert suited_code(given, ["ACGT" * 12_499]) == own


def test_no_code_suits_a_genome_of_few_genes():
    """By 4 a finder is surer of what is no gene, too, for it is longer."""
    genes = "".join(each.sequence for each in simulated.genome(7, codons=[*HALF, "TGA"], n_contigs=20))
    finder, rest = MetagenomeFinder.pretrained(), letters(np.random.default_rng(0), 3 * len(genes))
    assert suited_code(finder, [genes * 2]) == 4
    sample = [encode_letters(genes + rest, "")]
    sure = {code: orf_finder._surest(finder, sample, code)[1] for code in (11, 4)}
    assert sure[4] > 1.15 * sure[11]
    assert suited_code(finder, [genes + rest]) == 11


def test_starts_stay_where_there_are_too_few_genes_to_learn_them(finder):
    known = copy(finder)
    other = ProkaryoticGeneFinder(tuning=None, n_jobs=1).fit(simulated.genome(8, n_contigs=30))
    known.starts_ = other.starts_
    assert known.starts_ is not None
    assert adapt(known, NEW[:4]).starts_ is known.starts_


def test_wrong_input(finder, tree):
    with pytest.raises(DataError, match="there are no genes to train on"):
        adapt(finder, ["ACGT"])
    with pytest.raises(NotFittedError):
        suited_code(MetagenomeFinder(), ["ACGT"])
    with pytest.raises(CapabilityError, match="or ProkaryoticGeneFinder"):
        adapt(SequenceTagger(), ["ACGT"])
    with pytest.raises(CapabilityError, match="must be a MultitaskEstimator, not a ProkaryoticGeneFinder"):
        nearest_node(finder, ["ACGT"])
    with pytest.raises(NotFittedError):
        nearest_node(MultitaskEstimator(ProkaryoticGeneFinder(), ["a", "b"]), ["ACGT"])
