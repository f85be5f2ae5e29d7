"""Alphabets and matrices: aligners of DNA and RNA, and the scale of matrices as log odds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import structune
from structune import SequenceAligner
from structune.alignment.structure.alignment import Alignment
from structune.alignment.structure.alphabets import (
    NUCLEOTIDE,
    PROTEIN,
    NucleotideWarning,
    look_like_nucleotides,
)
from structune.alignment.structure.matrices import alphabet_of, log_odds_scale, read_matrix
from structune.errors import DataError

PAIRS = [("GATTACAGATTACA", "gatuacauacan"), ("ACGTACGT", "ACGACGT")]
ROWS = [("GATTACAGATTACA", "gatuaca--uacan".upper()), ("ACGTACGT", "ACG-ACGT")]


def test_probabilities_are_those_of_a_protein_model_of_four_letters():
    rng = np.random.default_rng(0)
    protein, nucleotide = Alignment("affine"), Alignment("affine", alphabet="nucleotide")
    other = rng.normal(size=protein.n_weights)
    # pairs of residues are in the order ARNDC...GT among proteins
    w = {
        tuple(sorted(name.split())): value for name, value in zip(protein.weight_names(), other, strict=True)
    }
    own = np.array([w[tuple(sorted(name.split()))] for name in nucleotide.weight_names()])
    pair = [("GATTACA", "GCTACAC")]
    expected = protein.posterior(other, protein.encode(pair), 0)
    assert_allclose(nucleotide.posterior(own, nucleotide.encode(pair), 0), expected, rtol=1e-9)


def test_ambiguous_letters_are_means():
    structure = Alignment("affine", alphabet="nucleotide")
    w = np.random.default_rng(2).normal(size=structure.n_weights)
    described = structure.describe(structune.Protein("RUNACGT"), "x").residues
    assert_allclose(described[0], [0.5, 0.0, 0.5, 0.0])
    assert_allclose(described[1], [0.0, 0.0, 0.0, 1.0])
    assert_allclose(described[2], 0.25)
    dna, rna = (structure.posterior(w, structure.encode([(x, "ACG")]), 0) for x in ("ACTG", "acug"))
    assert_allclose(dna, rna)


def test_fits_files_and_families(tmp_path):
    model = SequenceAligner(alphabet="nucleotide", penalty=0.1, n_jobs=1).fit(PAIRS, ROWS)
    assert model.predict(PAIRS[1:]) == ROWS[1:]
    model.save(tmp_path / "m.structune")
    again = structune.load(tmp_path / "m.structune")
    assert again.alphabet == "nucleotide"
    assert again.predict(PAIRS) == model.predict(PAIRS)
    assert [row.replace("-", "") for row in again.align(PAIRS[0]).rows] == list(PAIRS[0])
    with pytest.raises(DataError, match="'E' at residue 1"):
        again.predict([("AEC", "ACG")])
    with pytest.raises(DataError, match="alphabet='dna'"):
        SequenceAligner(tuning=None, alphabet="dna").fit(PAIRS, ROWS)


def test_matrices_of_nucleotides_align_families():
    rng = np.random.default_rng(3)
    gene = "".join(rng.choice(list("ACGT"), 120))
    family = [gene, gene[:50] + gene[56:], gene[:90] + "ACGTTA" + gene[90:], gene.replace("T", "U")]
    model = SequenceAligner.from_matrix("NUC.4.4", log_odds=True).set_params(n_jobs=1)
    found = model.align(family)
    columns = list(zip(*found.rows, strict=True))
    assert len(columns) == 126
    assert sum("-" not in column for column in columns) == 114
    assert all(len(set("".join(c).replace("U", "T")) - {"-"}) == 1 for c in columns)
    assert np.nanmin(found.confidence[:40]) > 0.8
    assert found.accuracies.min() > 0.9


def test_models_of_proteins_tell_of_nucleotides():
    model = SequenceAligner.pretrained().set_params(n_jobs=1)
    dna = "ACGTRACGTACGTNNACGWT"
    for call in (lambda: model.predict([(dna, "MKV")]), lambda: model.align([dna, dna, dna])):
        with pytest.warns(NucleotideWarning, match="look like DNA or RNA but are read as proteins"):
            call()


@pytest.mark.parametrize(
    ("sequences", "are"),
    [
        (["ACGTRYSWKMACGTACGTACG"], True),
        (["acgu" * 5, "MKVLE" * 30, "ACGTN" * 10], True),  # one among proteins
        (["ACGT"], False),  # too few
        (["GGGGS" * 10], False),  # a linker
        (["GAGAGS" * 20, "A" * 60], False),  # silk
        ([], False),
    ],
)
def test_letters_tell_nucleotides(sequences, are):
    assert look_like_nucleotides(sequences) is are


def test_the_scale_of_blosum62():
    matrix = read_matrix("BLOSUM62")
    assert matrix.shape == (20, 20)
    assert matrix[PROTEIN.residues.index("W"), PROTEIN.residues.index("W")] == 11.0
    assert log_odds_scale(matrix) == pytest.approx(0.3176, abs=2e-3)  # as BLAST prints it


def test_matrices_of_nucleotides():
    assert alphabet_of("NUC.4.4") is NUCLEOTIDE
    matrix = read_matrix("NUC.4.4", NUCLEOTIDE)
    assert np.array_equal(matrix, 9.0 * np.eye(4) - 4.0)
    scale = log_odds_scale(matrix, NUCLEOTIDE)
    assert 0.25 * np.exp(5.0 * scale) + 0.75 * np.exp(-4.0 * scale) == pytest.approx(1.0)
    with pytest.raises(DataError, match="is not a matrix for alphabet='nucleotide'"):
        read_matrix("BLOSUM62", NUCLEOTIDE)


@pytest.mark.parametrize("matrix", [np.eye(20), -np.ones((20, 20)), np.zeros((20, 20)), np.eye(20) - 0.0578])
def test_matrices_that_are_no_log_odds(matrix):
    with pytest.raises(DataError, match="not log odds"):
        log_odds_scale(matrix)
