"""Energies of structures, against ViennaRNA's, and folders that learn them."""

import gzip
import math
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from real_data import in_data_folder
from structune import RNAFolder
from structune.errors import DataError
from structune.rna import distill, partners, read_energies, to_dot_bracket

# by ViennaRNA 2.8 with Turner 2004 at 20, 37 and 55 C, a structure for each kind of loop
KNOWN = [
    ("GGGGAAAACCCC", "((((....))))", (-7.32, -5.4, -3.35)),
    ("GGCAACGCC", "(((...)))", (-0.16, 0.1, 0.37)),  # a special hairpin
    ("CCAACGGG", "((....))", (1.72, 2.2, 2.7)),
    ("GGCCAGUAAAACUGGCC", "((((((.....))))))", (-12.69, -9.6, -6.29)),
    ("GGCUCAGUGAACCUGGCC", "(((.(((.....))))))", (-8.05, -5.7, -3.19)),
    ("GGCCAGCGCCACUGGGAGCC", "((((((.....)))...)))", (-5.43, -3.1, -0.61)),
    ("GGCACAGCCUGCCUGCGCC", "(((.(((.....))).)))", (-8.99, -6.3, -3.42)),
    ("GGCGCAGGAGUUCUGUCGCC", "(((.(((.....)))..)))", (-6.68, -4.4, -1.96)),
    ("GGCCGCAGGGUCUCUGAGCC", "(((..(((.....))).)))", (-6.68, -4.4, -1.96)),
    ("GGCAUCAGUCACACUGUGGCC", "(((..(((.....)))..)))", (-8.44, -5.4, -2.16)),
    ("GGCGACAGCAUCACUGCGGGCC", "(((..(((.....)))...)))", (-7.74, -4.4, -0.84)),
    ("GGCCCAGCAGGGCUGUUAGGCC", "(((.(((.....)))....)))", (-5.11, -2.5, 0.25)),
    ("GGCGACCCAGGCGGACUGCUUGCC", "(((....(((.....)))...)))", (-7.83, -5.0, -2.0)),
    (
        "GGCGAGAUUCUUCUCAGUGCUCCCAGAAGUCCUGGUACGGCCAGUAUAAGCC",
        "(((....................(((.....)))...............)))",
        (-3.83, -0.84, 1.56),
    ),
    ("AGGCAAGCGAAAGCACCUAAAAGGUGCCA", ".(((..((....)).(((....))).)))", (1.87, 3.6, 5.48)),
    ("GGGGAUCGUUCACUGAUUUGUGGUGUCUUAGCAACAGAGUCAACCC", "(((" + "." * 40 + ")))", (-2.93, -1.09, 0.86)),
]


JOINED = "AGGAGGAAACCCGACAAAAGCGGACAA&AGUCACC", ".((.((...))((.(....)))(.(..&.).).))"
TWO = [  # also at 37 C, with pairs between two strands, or of circles
    ("GGCC&GGCC", "((((&))))", False, -5.9),
    ("GGGGAAAACCCCA&GGGAAACCCU", "((((....)))).&(((...))).", False, -9.5),  # no pair joins them
    ("AGGCAAGCGAAAGC&ACCUAAAAGGUGCCA", ".(((..((....))&.(((....))).)))", False, 2.4),
    (*JOINED, False, 4.5),
    ("GGGGAAAACCCCAUA", "((((....))))...", True, 0.0),
    ("AGCAAAAGCAAGCAAAAGCA", ".((....))..((....)).", True, 2.6),
    ("AGCAAAAGCAAGCAAAAGCAAGGAAAACCA", ".((....))..((....))..((....)).", True, 4.7),
]


@pytest.fixture(scope="module")
def turner():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_energies()


@pytest.mark.parametrize(("sequence", "structure", "energies"), KNOWN)
def test_energies_are_those_of_vienna_rna(turner, sequence, structure, energies):
    for temperature, energy in zip((20.0, 37.0, 55.0), energies, strict=True):
        model = read_energies(temperature=temperature)
        assert model.of(sequence, structure) == pytest.approx(energy, abs=1e-6)
        assert sum(loop.energy for loop in model.loops(sequence, structure)) == pytest.approx(energy)
    assert turner.of(sequence.lower().replace("u", "t"), structure) == pytest.approx(energies[1], abs=1e-6)


@pytest.mark.parametrize(("sequence", "structure", "circular", "energy"), TWO)
def test_two_strands_and_circles(turner, sequence, structure, circular, energy):
    assert turner.of(sequence, structure, circular) == pytest.approx(energy, abs=1e-6)
    bases, partner = sequence.replace("&", ""), partners(structure)
    n, nick = len(bases), sequence.find("&")
    for shift in range(n) if circular else [nick]:  # cut elsewhere, or the strands in the other order
        turned = np.where(partner < 0, -1, (partner - shift) % n)
        texts = [bases[shift:] + bases[:shift], to_dot_bracket(np.roll(turned, -shift))]
        if not circular:
            texts = [f"{text[: n - nick]}&{text[n - nick :]}" for text in texts]
        assert turner.of(*texts, circular) == pytest.approx(energy, abs=1e-6)


def test_loops(turner):
    found = turner.loops(*JOINED)
    assert [(loop.kind, loop.pairs, round(loop.energy, 2)) for loop in found] == [
        ("initiation", (), 4.1),
        ("exterior", ((1, 33),), -0.2),
        ("stack", ((1, 33), (2, 32)), -3.3),
        ("multibranch", ((2, 32), (4, 10), (11, 21), (22, 30)), 0.7),
        ("stack", ((4, 10), (5, 9)), -3.3),
        ("hairpin", ((5, 9),), 5.4),
        ("stack", ((11, 21), (12, 20)), -2.4),
        ("bulge", ((12, 20), (14, 19)), 0.4),
        ("hairpin", ((14, 19),), 4.1),
        ("internal", ((22, 30), (24, 28)), 0.5),
        ("exterior", ((24, 28),), -1.5),
    ]


@pytest.mark.data
def test_the_shipped_parameters_are_those_of_the_file(turner):
    with pytest.warns(UserWarning, match="section stack has entries that are not"):  # -1i40 in the file
        energies = read_energies(in_data_folder("rna/rna_turner2004.par"), temperature=10.0)
    shipped = read_energies(temperature=10.0)
    assert energies.hairpins == shipped.hairpins
    for name, table in energies.tables.items():
        np.testing.assert_array_equal(table, shipped.tables[name])


@pytest.mark.parametrize("temperature", [20.0, 37.0, 55.0])
def test_energies_against_the_program(temperature):
    vienna = pytest.importorskip("RNA")
    energies, rng = read_energies(temperature=temperature), np.random.default_rng(0)
    for circular in (False, True):
        details = vienna.md()
        details.temperature, details.circ = temperature, circular
        folder = RNAFolder.pretrained().set_params(circular=circular)
        for size in range(40, 60):
            sequence = "".join(rng.choice(list("ACGU"), 80))
            cut = sequence if circular else f"{sequence[:size]}&{sequence[size:]}"
            for text in {sequence, cut}:
                compound = vienna.fold_compound(text, details)
                for structure in folder.sample([text], 5, random_state=0)[0]:
                    energy = compound.eval_structure(structure.replace("&", "")) if "(" in structure else 0.0
                    assert energies.of(text, structure, circular) == pytest.approx(energy, abs=0.001)


def test_what_has_no_energy(turner):
    assert turner.of("", "") == turner.of("ACGN", "....") == 0.0
    assert math.isinf(turner.of("GAC", "(.)"))
    assert turner.score("GGGGAAAACCCC", "((((....))))") == pytest.approx(5.4 / 0.61632, rel=1e-4)
    with pytest.raises(DataError, match="the length of a structure is 3, but there are 4 bases"):
        turner.of("ACGU", "...")
    with pytest.raises(DataError, match="a circular RNA cannot have two strands"):
        turner.of("GGG&CCC", "(((&)))", circular=True)
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
    path.write_text(text.replace("# int22_enthalpies", "# other"))
    assert read_energies(path).hairpins == turner.hairpins
    with pytest.raises(DataError, match=r"a\.par: the section 'int22_enthalpies' is missing"):
        read_energies(path, temperature=20.0)
    path.write_text(text.replace("CAACGG     550     690", "CAACGG     550"))
    with pytest.raises(DataError, match=r"a\.par:8119: '' in section Tetraloops is neither a number"):
        read_energies(path, temperature=20.0)
    with pytest.raises(DataError, match="expected degrees Celsius above"):
        read_energies(temperature=-300.0)
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
