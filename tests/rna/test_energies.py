"""Energies of structures, against ViennaRNA's, and folders that learn them."""

import gzip
import math
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from real_data import in_data_folder
from structune import RNAFolder
from structune.errors import DataError
from structune.rna import distill, read_energies

# by ViennaRNA 2.8 with Turner 2004, a structure for each kind of loop
KNOWN = [
    ("GGGGAAAACCCC", "((((....))))", -5.4),
    ("GGCAACGCC", "(((...)))", 0.1),  # a special hairpin
    ("CCAACGGG", "((....))", 2.2),
    ("GGCCAGUAAAACUGGCC", "((((((.....))))))", -9.6),
    ("GGCUCAGUGAACCUGGCC", "(((.(((.....))))))", -5.7),
    ("GGCCAGCGCCACUGGGAGCC", "((((((.....)))...)))", -3.1),
    ("GGCACAGCCUGCCUGCGCC", "(((.(((.....))).)))", -6.3),
    ("GGCGCAGGAGUUCUGUCGCC", "(((.(((.....)))..)))", -4.4),
    ("GGCCGCAGGGUCUCUGAGCC", "(((..(((.....))).)))", -4.4),
    ("GGCAUCAGUCACACUGUGGCC", "(((..(((.....)))..)))", -5.4),
    ("GGCGACAGCAUCACUGCGGGCC", "(((..(((.....)))...)))", -4.4),
    ("GGCCCAGCAGGGCUGUUAGGCC", "(((.(((.....)))....)))", -2.5),
    ("GGCGACCCAGGCGGACUGCUUGCC", "(((....(((.....)))...)))", -5.0),
    (
        "GGCGAGAUUCUUCUCAGUGCUCCCAGAAGUCCUGGUACGGCCAGUAUAAGCC",
        "(((....................(((.....)))...............)))",
        -0.84,
    ),
    ("AGGCAAGCGAAAGCACCUAAAAGGUGCCA", ".(((..((....)).(((....))).)))", 3.6),
    ("GGGGAUCGUUCACUGAUUUGUGGUGUCUUAGCAACAGAGUCAACCC", "(((" + "." * 40 + ")))", -1.09),
]


@pytest.fixture(scope="module")
def turner():
    path = in_data_folder("rna/rna_turner2004.par")
    with pytest.warns(UserWarning, match="section stack has entries that are not"):  # -1i40 in the file
        return read_energies(path)


@pytest.mark.data
@pytest.mark.parametrize(("sequence", "structure", "energy"), KNOWN)
def test_energies_are_those_of_vienna_rna(turner, sequence, structure, energy):
    assert turner.of(sequence, structure) == pytest.approx(energy, abs=1e-6)
    assert turner.of(sequence.lower().replace("u", "t"), structure) == pytest.approx(energy, abs=1e-6)


@pytest.mark.data
def test_energies_against_the_program(turner):
    vienna = pytest.importorskip("RNA")
    rng = np.random.default_rng(0)
    for _ in range(20):
        sequence = "".join(rng.choice(list("ACGU"), 80))
        compound = vienna.fold_compound(sequence)
        for structure in RNAFolder.pretrained().sample([sequence], 5, random_state=0)[0]:
            energy = compound.eval_structure(structure)
            assert turner.of(sequence, structure) == pytest.approx(energy, abs=0.006)


@pytest.mark.data
def test_what_has_no_energy(turner):
    assert turner.of("", "") == turner.of("ACGN", "....") == 0.0
    assert math.isinf(turner.of("GAC", "(.)"))
    assert turner.score("GGGGAAAACCCC", "((((....))))") == pytest.approx(5.4 / 0.61632, rel=1e-4)
    with pytest.raises(DataError, match="the length of a structure is 3, but there are 4 bases"):
        turner.of("ACGU", "...")
    with pytest.raises(DataError, match="'&' is not"):
        turner.of("GGG&CCC", "(((&)))")
    with pytest.raises(DataError, match="a structure: &"):
        turner.of("GGGCCC", "(((&)))")
    with pytest.raises(DataError, match="pseudoknot"):
        turner.of("GGGGCCCC", "([..)].."[:8])


@pytest.mark.data
def test_files_that_are_refused(tmp_path, turner):
    text = in_data_folder("rna/rna_turner2004.par").read_text().replace("-1i40", "-140")
    path = tmp_path / "a.par"
    changes = {
        "expected '## RNAfold parameter file": ("## ", ""),
        "the section 'int21' is missing": ("# int21\n", "# other\n"),
        r"a\.par:3: section stack must have 49 numbers, not 48": ("-240", ""),
        r"'x5' in section hairpin is neither a number": ("   INF   INF   INF   540", " INF INF INF x5"),
        "section stack has entries that are not numbers": ("-240  -330", "x  -330"),
        "must have at least 4 numbers": ("    410     360      50     370", "410 360"),
    }
    for message, (old, new) in changes.items():
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(DataError, match=message):
            read_energies(path)
    path.write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        read_energies(path)
    path.write_text(re.sub(r"(?<= )-50(?= )", "DEF", text))  # as ViennaRNA writes
    assert read_energies(path).of("GGCCAGUAAAACUGGCC", "((((((.....))))))") == pytest.approx(-9.6)
    (tmp_path / "b.par.gz").write_bytes(gzip.compress(text.encode()))
    assert read_energies(tmp_path / "b.par.gz").of("GGGGAAAACCCC", "((((....))))") == pytest.approx(-5.4)


def test_a_teacher_within_the_model_is_learned():
    rng = np.random.default_rng(0)
    teacher = RNAFolder.pretrained().set_params(n_jobs=1)
    teacher._import(0.5 * teacher.coef_)
    sequences = ["".join(rng.choice(list("ACGU"), 60)) for _ in range(30)]

    def score(sequence, structure):
        return 7.0 - teacher.log_loss([sequence], [structure])[0]

    student = distill(score, sequences[:22], rounds=2)
    judged = []
    for x in sequences[22:]:
        ys = ["." * 60, *teacher.sample([x], 5, 1)[0]]
        losses = [folder.log_loss([x] * 6, ys) for folder in (teacher, student)]
        judged.append(np.array(losses)[:, 1:] - np.array(losses)[:, :1])
    assert np.corrcoef(*np.concatenate(judged, axis=1))[0, 1] > 0.95
    assert student.status_ == "imported"


def test_teachers_that_teach_nothing():
    with pytest.raises(DataError, match="no finite score for any structure"):
        distill(lambda sequence, structure: math.nan, ["GGGGAAAACCCC"])
    with pytest.raises(DataError, match="sequence 0"):
        distill(lambda sequence, structure: 0.0, [3])
    with pytest.raises(DataError, match="sequence 1: distill does not support two strands"):
        distill(lambda sequence, structure: 0.0, ["GC", "GG&CC"])
    with pytest.raises(NotFittedError, match="RNAFolder"):
        distill(lambda sequence, structure: 0.0, ["GC"], RNAFolder())
    with pytest.raises(DataError, match="rounds=0"):
        distill(lambda sequence, structure: 0.0, ["GC"], rounds=0)
    with pytest.raises(DataError, match="the teacher returned the score None"):
        distill(lambda sequence, structure: None, ["GGGGAAAACCCC"])
    with pytest.raises(DataError, match="expected a function of a sequence and a structure, such as read_en"):
        distill(["GGGGAAAACCCC"], lambda sequence, structure: 0.0)
