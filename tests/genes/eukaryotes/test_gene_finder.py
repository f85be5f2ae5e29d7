"""The gene finder: fits, predictions that are genes, tracks, what is skipped, files, wrong input."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import simulated_genes as simulated
import structune
from simulated_genes import exons
from structune import GeneFinder
from structune.errors import DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.genes.examples import SkippedGenesWarning
from structune.genes.formats.record import AnnotatedSequence, Transcript, coding_problems, overlapping_genes
from structune.genes.metrics import gene_scores
from structune.running import Run

TRAIN, TEST = simulated.genome(0), simulated.genome(1, n_contigs=3)
TEXTS = [each.sequence for each in TEST]
GENE = Transcript("c", "+", ((5, 12), (21, 26)), "t", "g")
TINY = AnnotatedSequence("c", "CCTATATGGCAGGTAAGTCAGGCTAACCT", (GENE,))


def finder(**options):
    return GeneFinder(**{"n_jobs": 1, "penalty": 0.1, **options})


@pytest.fixture(scope="module")
def model():
    return finder().fit(TRAIN)


def same(a, b):
    return [exons(genes) for genes in a] == [exons(genes) for genes in b]


def check_genes(sequences, predicted, donors=("GT",), min_intron=4):
    for sequence, genes in zip(sequences, predicted, strict=True):
        for t in genes:
            assert not coding_problems(t, sequence, donors=donors, min_intron=min_intron)
        assert not overlapping_genes(genes, strands_apart=False)
        assert [t.start for t in genes] == sorted(t.start for t in genes)


@pytest.mark.parametrize("features", ["full", "paper"])
def test_genes_of_both_strands_are_learned(features):
    model = finder(features=features).fit(TRAIN)
    assert model.status_ == "converged"
    assert not model.skipped_
    found = model.predict(TEST)
    check_genes(TEXTS, found)
    assert model.score(TEST) > 0.9
    known, names = {t.name: t.transcripts for t in TEST}, ["c0", "c1", "c2"]
    assert model.score(TEST) == gene_scores(known, dict(zip(names, found, strict=True))).exon.f1
    assert all(0 <= t.score <= 1 for genes in found for t in genes)


@pytest.mark.parametrize("loss", ["margin", "ramp"])
def test_losses_of_bases(loss):
    model = finder(loss=loss, penalty=10.0, flank=50, run=Run(max_iterations=12)).fit(TRAIN[:4])
    found = model.predict(TEST)
    check_genes(TEXTS, found)
    assert model.score(TEST) > 0.9
    assert {t.score for genes in found for t in genes} == {None}


@pytest.mark.parametrize(("tuning", "groups"), [("implicit", "kind"), ("majorize", "single")])
def test_tuning(tuning, groups):
    model = finder(tuning=tuning, penalty=None, cv=0.2, groups=groups, flank=30).fit(TEST)
    assert model.score(TRAIN) > 0.8
    assert {"scales", "donor", "edges", "exon lengths"} < set(model.group_names_) or groups == "single"
    if tuning == "implicit":  # from the usual ones
        assert_allclose(np.exp(model.history_[0]["log_precision"][5:]), [0.1, 3.0, 5.0])


def test_donors():
    rng = np.random.default_rng(0)
    some = [simulated.annotated(rng, f"c{k}", n_genes=2) for k in range(3)]
    rare = AnnotatedSequence("c", TINY.sequence.replace("GGTAAG", "GGCAAG"), (GENE,))
    with pytest.warns(SkippedGenesWarning, match="an intron without splice sites"):
        assert [each.name for each in finder().fit([*some, rare]).skipped_] == ["g"]
    model = finder(donors=["GT", "GC"]).fit([*some, *[rare] * 5])
    assert model.skipped_ == []
    assert exons(model.predict([rare])[0]) == exons([GENE])
    check_genes(TEXTS, model.predict(TEXTS), donors=("GT", "GC"))


def test_weights_of_sequences():
    """A weight of 2 is as good as being there twice, one of 0 as not being there."""
    options = {"features": "paper", "run": Run(tolerance=1e-8)}  # no lengths, which no weight changes
    weighted = finder(**options).fit(TRAIN[:3], sample_weight=[2, 1, 0])
    copies = finder(**options).fit([TRAIN[0], TRAIN[0], TRAIN[1]])
    assert_allclose(weighted.coef_, copies.coef_, atol=1e-4)


def test_flank():
    none, some, far, further = (
        finder(flank=flank, run=Run(max_iterations=1)).fit(TRAIN[:1]).coef_ for flank in (0, 20, 1000, 10**6)
    )
    assert not np.array_equal(none, some)
    assert_array_equal(far, further)


def test_scales_are_half_without_evidence():
    model = finder(penalty=1e9, center=None).fit(TRAIN)
    n = len(model.graph_.scaling.scales)
    assert_allclose(model.coef_[:n], 0.5, atol=1e-4)
    assert_allclose(model.coef_[n:], 0.0, atol=1e-4)
    assert len(model.graph_.scaling.tables) == 1  # predictions need that of all examples
    default = GeneFinder(tuning=None, n_jobs=1, center=None).fit([TINY])
    known = dict(zip(default.group_names_, default.penalty_.tolist(), strict=True))
    assert known["edges"] < known["scales"] == 1.0 < known["donor"]


def test_the_center_is_where_scales_are_without_evidence(model):
    """And edges, and lengths of exons; signals and lengths of introns are the genome's own."""
    known = dict(zip(model.graph_.weight_names(), model.coef_.tolist(), strict=True))
    for center in (model, "pretrained"):
        if center == "pretrained":
            common = GeneFinder.pretrained()
            known = dict(zip(common.graph_.weight_names(), common.coef_.tolist(), strict=True))
        found = finder(penalty=1e9, center=center).fit(TRAIN[:3])
        for name, w in zip(found.graph_.weight_names(), found.coef_.tolist(), strict=True):
            is_known = name.startswith(("scales", "edges", "exon lengths"))
            assert w == pytest.approx(known[name] if is_known else 0.0, abs=1e-3), name
    assert clone(found).center == "pretrained"
    assert clone(finder(center=model)).center is model
    for options, expected in (({}, 100.0), ({"center": None}, 1.0), ({"loss": "margin"}, 1.0)):
        found = GeneFinder(tuning=None, n_jobs=1, run=Run(max_iterations=1), **options).fit([TINY])
        assert dict(zip(found.group_names_, found.penalty_.tolist(), strict=True))["scales"] == expected


@pytest.mark.parametrize("center", ["fly", GeneFinder()])
def test_wrong_centers(center):
    with pytest.raises(DataError, match="expected 'pretrained', a fitted GeneFinder"):
        finder(center=center, features="paper").fit([TINY])


def test_soft_masks_and_unknown_bases(model):
    assert same(model.predict([text.lower() for text in TEXTS]), model.predict(TEXTS))
    rng = np.random.default_rng(0)
    holes = ["".join("N" if rng.random() < 0.02 else a for a in text) for text in TEXTS]
    found = model.predict(holes)
    check_genes(holes, [[t for t in genes if not any(t.partial)] for genes in found])
    assert sum(map(len, found))
    assert model.predict(["N" * 50, "n", "", "A", "ATG"]) == [()] * 5
    assert model.predict([]) == []


def test_scores_are_probabilities_of_bases():
    model = finder(penalty=1.0).fit([TINY])
    (gene,) = model.predict([TINY])[0]
    assert (gene.exons, gene.contig, gene.gene, gene.name) == (GENE.exons, "c", "c.g1", "c.g1.t1")
    assert model.predict([TINY.sequence])[0][0].contig == "sequence0"
    shard = model.graph_.encode([TINY.sequence])
    marginals = model.graph_.marginals(model.coef_, shard)[:, :3].sum(axis=1)
    bases = [p for a, b in GENE.exons for p in range(a, b)]
    assert gene.score == pytest.approx(marginals[bases].mean())


def coding_track(sequence):
    track = np.zeros((len(sequence.sequence), 2))
    for t in sequence.transcripts:
        for a, b in t.exons:
            track[a:b, t.strand == "-"] = 1.0
    return track


def test_a_track_that_marks_coding_bases(tmp_path):
    tracks, test = [coding_track(each).max(axis=1, keepdims=True) for each in TRAIN], TEST
    model = finder(penalty={"tracks": 1e-3}).fit(TRAIN, tracks=tracks)
    known = [coding_track(each).max(axis=1, keepdims=True) for each in test]
    assert same(model.predict(test, tracks=known), [each.transcripts for each in test])
    assert model.score(test, tracks=known) == 1.0
    model.save(tmp_path / "m.structune")
    again = structune.load(tmp_path / "m.structune")
    assert again.predict(test, tracks=known) == model.predict(test, tracks=known)
    with pytest.raises(DataError, match=r"the tracks have the shape \(\d+, 0\), but must have \(\d+, 1\)"):
        model.predict(test)


@pytest.mark.parametrize(
    ("tracks", "message"),
    [
        (3, "tracks=3 must be a list of arrays"),
        ([], "tracks has 0 arrays, but X has 1 seq"),
        (["a"], "c: the tracks 'a' are not an array of numbers"),
        ([np.zeros((28, 1))], r"c: the tracks have the shape \(28, 1\), but must have \(29, 1\)"),
        ([np.full((29, 1), np.nan)], "c: the tracks contain NaN or infinite numbers"),
    ],
)
def test_wrong_tracks(tracks, message):
    with pytest.raises(DataError, match=message):
        finder().fit([TINY], tracks=tracks)
    with pytest.raises(DataError, match=r"c: the tracks have the shape \(29, 2\), but must have \(29, 1\)"):
        finder().fit([TINY, TINY], tracks=[np.zeros((29, 1)), np.zeros((29, 2))])


@pytest.mark.filterwarnings("ignore::structune.genes.examples.SkippedGenesWarning")
def test_files(tmp_path):
    model = finder(features="paper", strands="forward", donors=("GT", "GC"), flank=77).fit(TRAIN[:3])
    model.save(tmp_path / "m.structune")
    again = structune.load(tmp_path / "m.structune")
    assert_array_equal(again.coef_, model.coef_)
    assert again.get_params() == clone(model).get_params() == model.get_params()
    assert again.introns_ == model.introns_
    assert again.predict(TEST) == model.predict(TEST) == pickle.loads(pickle.dumps(model)).predict(TEST)


@pytest.mark.parametrize(
    "tables", [None, np.zeros((1, 7)), np.zeros((12, 1)), np.full((1, 1), np.nan), np.zeros((1, 1), int)]
)
def test_files_with_wrong_tables_are_refused(model, tmp_path, tables):
    model.save(tmp_path / "m.structune")
    header, arrays = read_model(tmp_path / "m.structune")
    if tables is None:
        del arrays["tables"]
    else:  # of one column: of as many as there are weights
        wide = tables.ndim == 2 and tables.shape[1] == 1
        arrays["tables"] = np.repeat(tables, arrays["tables"].shape[1], axis=1) if wide else tables
    save_model(tmp_path / "m.structune", "genes", header, arrays)
    with pytest.raises(ModelFileError, match="tables"):
        structune.load(tmp_path / "m.structune")


def test_nothing_to_learn_from():
    other = Transcript("c", "-", ((26, 29),), "t2", "g2")
    with pytest.raises(DataError, match=r"2: overlaps or touches another gene \(g, g2\)"):
        finder().fit([AnnotatedSequence("c", TINY.sequence, (GENE, other))])
    for sequences in ([], [""], ["ACGT"]):
        with pytest.raises(DataError, match="there are no genes to train on"):
            finder().fit(sequences)


def test_genes_given_apart_and_sequences_without(model):
    texts, genes = [each.sequence for each in TRAIN], [each.transcripts for each in TRAIN]
    more = finder().fit(["ACGT" * 50, *texts, ""], [(), *genes, ()])
    assert_array_equal(more.coef_, model.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "most"}, "features='most': expected one of"),
        ({"donors": "GT"}, "expected a list with 'GT', 'GC' or both"),
        ({"flank": -1}, "flank=-1: expected a whole number >= 0"),
        ({"groups": "prefix"}, "groups='prefix': expected 'kind'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(DataError, match=message):
        finder(**options).fit([TINY])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TINY,), "X must be a list of sequences, not a single AnnotatedSequence"),
        (([3],), "sequence 0 must be a str or an AnnotatedSequence, not int"),
        (([TINY, "ACGT"], [[GENE]]), "y has the genes of 1 sequences, but X has 2"),
        (([TINY], None, None, ["a", "b"]), r"groups have the shape \(2,\), but must have \(1,\)"),
        (([TINY], [[3]]), "c: a gene must be a Transcript, not int"),
        (([TINY], [None]), "c: the genes must be a list, not NoneType"),
        (([TINY], None, [[1.0], [1.0, 2.0]]), "weights must be an array of shape \\(1,\\)"),
    ],
)
def test_wrong_input(arguments, message):
    with pytest.raises(DataError, match=message):
        finder().fit(*arguments)
