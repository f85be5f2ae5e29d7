"""Alignments: laws by enumeration, in blocks and in the log domain, classical scores, encoding."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import laws
import loss_laws
from alignments import RESIDUES, problem_of, problems
from structune import Protein, SequenceAligner
from structune.alignment.kernels.sums import LOGS, NUMBERS
from structune.alignment.structure import inference
from structune.alignment.structure.alignment import Alignment
from structune.errors import DataError
from structune.running import Run

MODELS = {
    "full": {},
    "affine": {"full": False},
    "full, partial": {"partial": True},
    "one overhang, partial": {"full": False, "partial": True, "overhangs": "one"},
    "annotated": {"annotated": True},
    "affine, annotated, partial": {"full": False, "partial": True, "annotated": True},
    "banded": {"band": 1},
    "affine, banded, partial": {"full": False, "partial": True, "band": 2},
}
FEW = "full", "one overhang, partial", "affine, annotated, partial", "banded"
FEW_MODELS = pytest.mark.parametrize("options", [MODELS[name] for name in FEW], ids=FEW)


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@settings(max_examples=6)
@given(data=st.data())
def test_laws(options, data):
    laws.hold(data.draw(problems(most=4, **options)))


@FEW_MODELS
@settings(max_examples=4)
@given(data=st.data())
def test_laws_with_extreme_weights(options, data):
    laws.hold(data.draw(problems(most=4, scale=50.0, **options)))


@FEW_MODELS
@settings(max_examples=2)
@given(data=st.data())
def test_laws_of_losses(options, data):
    loss_laws.hold(data.draw(problems(most=4, **options)))


def only(is_used):
    """Sums that are in range only where a tilt and a domain say so."""

    class Only(inference.Inference):
        def __init__(self, pair, counts=False, tilt=0.0, domain=NUMBERS):
            if not is_used(tilt, domain):
                raise inference.RangeError
            super().__init__(pair, counts, tilt, domain)

    return Only


WAYS = {
    "small blocks": [(inference, "_CELLS", 1)],
    "logs": [(inference, "Inference", only(lambda _, domain: domain is LOGS))],
    "tilted": [
        (inference, "Inference", only(lambda tilt, _: tilt)),
        (inference, "_diagonal_tilt", lambda _: 0.3),
    ],
}


@FEW_MODELS
@pytest.mark.parametrize("way", WAYS)
def test_laws_in_other_ways(options, way, monkeypatch):
    for changed in WAYS[way]:
        monkeypatch.setattr(*changed)
    pairs = [("ARNDC", "RNDAE"), ("WYV", "GHILKM"), ("", "AC"), ("AC", "")]
    laws.hold(problem_of(pairs, np.random.default_rng(0), **options))


def random_pairs(n, most, rng):
    for _ in range(n):
        x, y = ("".join(rng.choice(list(RESIDUES), rng.integers(1, most))) for _ in "xy")
        yield x, y
        yield x, "".join(c for c in x if rng.random() < 0.9) + y[: rng.integers(0, 20)] or "A"


@pytest.mark.parametrize(("opens", "extends"), [(11, 1), (0, 0)])
def test_global_scores_are_those_of_parasail(opens, extends):
    parasail = pytest.importorskip("parasail")
    model = SequenceAligner.from_matrix("BLOSUM62", opens, extends)
    structure, w = model.alignment_, model.coef_
    pairs = list(random_pairs(20, 150, np.random.default_rng(0)))
    shard = structure.encode(pairs)
    partners, scores = structure.best(w, shard)
    peer = [parasail.nw_scan_32(x, y, opens, extends, parasail.blosum62).score for x, y in pairs]
    assert_array_equal(scores, peer)
    assert_allclose(structure.score(w, shard, partners), scores, rtol=1e-12)


@pytest.mark.parametrize(("opens", "extends"), [(11, 1), (20, 0)])
def test_semi_global_scores_are_those_of_parasail(opens, extends):
    """Unless its best alignment has a gap in the one sequence next to free residues of the other."""
    parasail = pytest.importorskip("parasail")
    model = SequenceAligner.from_matrix("BLOSUM62", opens, extends, "semi-global")
    structure, w = model.alignment_, model.coef_
    pairs = list(random_pairs(20, 150, np.random.default_rng(0)))
    _, scores = structure.best(w, structure.encode(pairs))
    peers = [parasail.sg_trace_scan_32(x, y, opens, extends, parasail.blosum62) for x, y in pairs]
    assert np.all(scores <= [peer.score for peer in peers])
    same = [scores[k] == peer.score for k, peer in enumerate(peers)]
    assert np.mean(same) > 0.9
    for peer, equal in zip(peers, same, strict=True):
        rows = peer.traceback.query, peer.traceback.ref
        columns = [(a != "-", b != "-") for a, b in zip(*rows, strict=True)]
        inside = [k for k, both in enumerate(columns) if all(both)]
        ends = (columns[: inside[0]], columns[inside[-1] + 1 :]) if inside else ()
        assert equal or any(len(set(end)) == 2 for end in ends)


def test_blocks_of_rows_do_not_change_a_bit_of_what_matters(monkeypatch):
    rng = np.random.default_rng(0)
    structure, pairs = Alignment(), list(random_pairs(3, 200, rng))
    shard, w = structure.encode(pairs), 0.3 * rng.normal(size=structure.n_weights)

    def found():
        sums = np.zeros(w.size)
        log_z = structure.log_partition(w, shard, sums)
        return log_z, sums, structure.best(w, shard)[0], structure.decode(w, shard, 4.0)

    once = found()
    monkeypatch.setattr(inference, "_CELLS", 1)
    monkeypatch.setattr(inference, "_MOST_KEPT", 0)
    again = found()
    for one, other in zip(again[:3], once[:3], strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for one, other in zip(again[3], once[3], strict=True):
        assert_array_equal(one.partner, other.partner)
        assert_allclose(one.confidence, other.confidence, rtol=1e-9)
    partners = np.concatenate([each.partner for each in once[3]])
    assert_array_equal(structure.best_accuracy(w, shard, 4.0), partners)


def test_what_the_scaled_sums_lose_is_noticed():
    """A swap of two long stretches: either half of the path is worth nothing beside another's."""
    rng = np.random.default_rng(0)
    a, b = ("".join(rng.choice(list(RESIDUES), 90)) for _ in "ab")
    structure = Alignment("affine")
    w = np.zeros(structure.n_weights)
    w[[name.split(": ")[1][0] == name[-1] for name in structure.weight_names()]] = 9.0
    w[:210] -= 1.0
    shard, sums = structure.encode([(a + b, b + a)]), np.zeros(w.size)
    (value,) = structure.log_partition(w, shard, sums)
    ((_, pair),) = structure._pairs(w, shard)
    assert value == pytest.approx(inference.Inference(pair, domain=LOGS).log_partition, rel=1e-12)


def test_uses_of_gaps_that_leave_the_range_are_found_in_another_way(monkeypatch):
    rng = np.random.default_rng(7)
    structure, pairs = Alignment(), list(random_pairs(15, 60, rng))
    shard, w = structure.encode(pairs), 8.0 * rng.normal(size=structure.n_weights)
    found, expected = np.zeros((2, w.size))
    structure.log_partition(w, shard, found)
    monkeypatch.setattr(*WAYS["logs"][0])
    structure.log_partition(w, shard, expected)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_scores_that_grow_along_both_sequences_are_tilted(monkeypatch):
    """What follows a cell far from the path is more than a double holds."""
    rng = np.random.default_rng(0)
    pair = tuple("".join(rng.choice(list(RESIDUES), 900)) for _ in "xy")
    structure = Alignment("affine")
    w = rng.normal(scale=0.1, size=structure.n_weights)
    w[structure.weight_names().index("gap length: further")] = 1.0
    shard, sums = structure.encode([pair]), np.zeros(w.size)
    ((_, scores),) = structure._pairs(w, shard)
    with pytest.raises(inference.RangeError):
        inference.Posteriors(inference.Inference(scores))
    expected = inference.Inference(scores, domain=LOGS).log_partition
    monkeypatch.setattr(inference, "Inference", only(lambda _, domain: domain is NUMBERS))
    assert_allclose(structure.log_partition(w, shard, sums), expected, rtol=1e-12)
    product = structure.linearize(w, shard)(w)
    step = 1e-5
    above, below = np.zeros((2, w.size))
    structure.log_partition(w * (1 + step), shard, above)
    structure.log_partition(w * (1 - step), shard, below)
    assert_allclose(product, (above - below) / (2 * step), rtol=1e-4, atol=1e-3)


def test_forced_matches_of_low_scores_stay_in_the_linear_domain(monkeypatch):
    monkeypatch.setattr(inference, "Inference", only(lambda _, domain: domain is NUMBERS))
    x = "A" * 600
    structure = Alignment("affine")
    w = np.zeros(structure.n_weights)
    w[0] = -3.0
    shard = structure.encode([(x, x + "c")], [(x + "-", x + "c")])
    assert structure.log_partition(w, shard, within=True)[0] < -1000


def test_a_wide_band_is_none_and_a_narrow_one_costs_less():
    rng = np.random.default_rng(0)
    x = "".join(rng.choice(list(RESIDUES), 300))
    pair = x, "".join(c for c in x if rng.random() < 0.95)
    structure = Alignment("affine")
    w, results = structure.guess() / 3, []
    for band in (None, 10_000, 30):
        limited = structure.with_band(band)
        shard, sums = limited.encode([pair]), np.zeros(w.size)
        log_z = limited.log_partition(w, shard, sums)
        results.append([log_z, sums, limited.best(w, shard)[0], limited.best_accuracy(w, shard, 1.0)])
    for wide, narrow, whole in zip(results[1], results[2], results[0], strict=True):
        assert_allclose(wide, whole, rtol=1e-12, atol=1e-12)
        assert_allclose(narrow, whole, rtol=1e-3, atol=1e-3)
    ((_, scores),) = structure.with_band(30)._pairs(w, structure.encode([pair]))
    columns = [scores.columns(slice(i, i + 10)) for i in range(0, 290, 10)]
    assert max(part.stop - part.start for part in columns) < 75


@pytest.mark.parametrize("lengths", [(60, 860), (3000, 5), (1, 3000)])
def test_bands_of_sequences_of_different_length(lengths):
    """Along the line between both ends there is always room to match all of the shorter one."""
    x, y = ("A" * n for n in lengths)
    structure = Alignment("affine", band=1)
    w = np.zeros(structure.n_weights)
    w[0] = 1.0
    shard = structure.encode([(x, y)])
    for found in (structure.best(w, shard)[0], structure.best_accuracy(w, shard)):
        i = np.flatnonzero(found >= 0)
        assert i.size == min(lengths)
        assert np.all(np.abs(found[i] * lengths[0] - i * lengths[1]) <= max(lengths))


def test_alignments_beyond_the_band():
    pairs, rows = [("HEAG", "HEAG"), ("HEAG", "GGHEAG")], [("----HEAG", "HEAG----"), ("--HEAG", "GGHEAG")]
    structure = Alignment("affine", band=2)
    assert structure.encode(pairs, rows).partners.tolist() == [-1] * 4 + [2, 3, 4, 5]
    unknown = ("heagaw----GHEE", "----heagawGHEE")
    assert structure.encode([("HEAGAWGHEE", "HEAGAWGHEE")], [unknown]).scored.sum() == 4
    with pytest.raises(DataError, match=r"pair 1: the alignment is 1\.3 residues off the diagonal.*band=1"):
        structure.with_band(1).encode(pairs, rows)


def test_sums_out_of_range_of_long_sequences_are_refused(monkeypatch):
    monkeypatch.setattr(inference, "MOST_SCORE", -1.0)
    monkeypatch.setattr(inference, "_MOST_LOG_CELLS", 5)
    structure = Alignment("affine")
    with pytest.raises(DataError, match="the probabilities for 2 and 3 residues cannot be computed"):
        structure.log_partition(np.zeros(structure.n_weights), structure.encode([("AC", "ACD")]))


def test_scores_of_large_profiles_leave_the_linear_domain():
    structure = Alignment("affine", profile=1)
    marks = np.array([name == "profile: 0 0" for name in structure.weight_names()])
    x = Protein("AC", [[1e3], [-1e3]])
    shard = structure.encode([(x, x)])
    assert structure.log_partition(1.0 * marks, shard) == pytest.approx(2e6, rel=1e-15)
    assert_allclose(structure.log_partition(-1.0 * marks, shard), 1e6 + np.log(2), rtol=1e-15)


def test_sequences_of_the_same_annotation_are_held_once():
    one, same, other = (Protein("AC", [[1], [v]], "H-") for v in (2, 2, 3))
    assert one == same != other
    assert one != Protein("AC", [[1], [2]], "HC")
    assert one != Protein("AC", [[1, 2]], "H-")
    shard = Alignment(profile=1, secondary=True).encode([(one, other), (same, same)])
    assert shard.sequences.tolist() == [[0, 1], [0, 0]]
    assert shard.take([1]).annotation.tolist() == [[1, 1, 0, 0], [2, 0, 0, 1]]
    assert shard.annotation.tolist() == [[1, 1, 0, 0], [2, 0, 0, 1], [1, 1, 0, 0], [3, 0, 0, 1]]


def test_letters_of_dssp_are_those_of_three_states():
    def encoded(secondary):
        return Alignment(secondary=True).encode([(Protein("A" * len(secondary), None, secondary), NOTHING)])

    found, expected = encoded("HGIhgi EBeb CcTtSsPpLl-. "), encoded("HHHHHHCEEEECCCCCCCCCCCCCC")
    assert_array_equal(found.annotation, expected.annotation)
    assert_allclose(encoded("xX?").annotation, 1 / 3)


NOTHING = Protein("", None, "")
GIVEN = Protein("AC", [[1.0, 2.0], [3.0, 4.0]], "HC")


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ({"secondary": "HC"}, "has no profile, but the model uses a profile of 2 columns"),
        ({"profile": [[1], [2]], "secondary": "HC"}, "has a profile of 1 columns, but the model"),
        ({"profile": np.ones((2, 2))}, "has no secondary structure, but the model needs one"),
        ({"profile": np.ones((3, 2))}, "the profile must have the shape (2, n_columns), not (3, 2)"),
        ({"profile": [[1, 1], [1, np.nan]]}, "column 1 of the profile is nan at residue 1 (both from 0). It"),
        ({"profile": np.ones((2, 2)), "secondary": "HCC"}, "the secondary structure has 3 letters for 2"),
        ({"profile": np.ones((2, 2)), "secondary": "HZ"}, "has 'Z' at residue 1 (from 0). Allowed: H, E, C"),
    ],
)
def test_wrong_annotation_is_named(annotation, message):
    with pytest.raises(DataError, match="pair 1, y: " + ".*" + re.escape(message)):
        Alignment(profile=2, secondary=True).encode([(GIVEN, GIVEN), (GIVEN, Protein("AC", **annotation))])


def test_annotation_that_is_not_known():
    with pytest.raises(DataError, match="the protein has a profile of 2 columns, but the model uses no"):
        Alignment().encode([(GIVEN, "AC")])
    with pytest.raises(DataError, match="the protein has a secondary structure, but the model uses none"):
        Alignment().encode([(Protein("AC", None, "HC"), "AC")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1,), "residues must be a string, not 1"),
        (("AC", None, ["H", "C"]), "secondary must be a string, not ['H', 'C']"),
        (("AC", [[1], [2, 3]]), "profile must be an array of numbers"),
    ],
)
def test_what_is_no_protein(arguments, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Protein(*arguments)


@pytest.mark.parametrize(
    ("pairs", "rows", "message"),
    [
        ([("AC1", "A")], None, "pair 0, x: '1' at residue 2 (from 0) is not an amino acid"),
        ([("AC", 5)], None, "pair 0: the pair must be two strings or Proteins, not ('AC', 5)"),
        ([("AC", "A")], [("AC", Protein("A"))], "must be two strings"),
        ([("AC", "A")], [("AC", "A-"), ("A", "A")], "there are 2 alignments, but 1 pairs"),
        ([("AC", "A")], [("AC", "A")], "pair 0: the rows differ in length: 2 and 1 columns"),
        ([("AC", "A")], [("A-", "-A")], "pair 0, x: the alignment has 1 residues, the sequence 2"),
        ([("AC", "A")], [("AC", "D-")], "pair 0, y: residue 0 (from 0) is 'D' in the alignment but 'A' in"),
        ([("AC", "A")], [("AC-", "A--")], "pair 0, column 2 (from 0): both rows have a gap"),
        ([("AC", "DC")], [("A-C", "-DC")], "pair 0: both sequences have unmatched residues at one end"),
    ],
)
def test_what_is_wrong_is_named(pairs, rows, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Alignment(overhangs="one").encode(pairs, rows)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features", "all", "features='all': expected one of"),
        ("overhangs", "none", "overhangs='none': expected 'both' or 'one'"),
        ("profile", -1, "profile=-1: expected a number of columns"),
        *(("band", band, "expected a whole number >= 1, or None") for band in (0, 1.5, "10")),
    ],
)
def test_options_that_are_refused(name, value, message):
    with pytest.raises(DataError, match=message):
        Alignment(**{name: value})


GAMMAS = (0.0, 0.3, np.inf)


def drawn(n, longest, letters="ARNDCQEGHILKMFPSTWYV"):
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, longest + 1, (n, 2)).tolist()
    return [tuple("".join(rng.choice(list(letters), k)) for k in pair) for pair in sizes]


def each(structure, w, shard, gamma):
    found = [inference.most_accurate(pair, gamma) for _, pair in structure._pairs(w, shard)]
    return np.concatenate(found)


def assert_as_accurate(structure, w, shard, gamma, partners, expected):
    """The same alignments, or others of the same expected accuracy: symmetric ones tie but for roundings."""
    for p in range(len(shard)):
        of = slice(shard.starts[p], shard.starts[p + 1])
        if np.array_equal(partners[of], expected[of]):
            continue
        table = structure.posterior(w, shard, p)
        free = (1.0 - table.sum(axis=1))[:, None] + 1.0 - table.sum(axis=0)
        gains = table - free / (2.0 * gamma)
        a, b = (gains[x := np.flatnonzero(y >= 0), y[x]].sum() for y in (partners[of], expected[of]))
        assert a == pytest.approx(b, rel=1e-9), p


@pytest.fixture(scope="module", params=["protein", "matrix", "nucleotide"])
def aligner(request):
    if request.param == "matrix":
        return SequenceAligner.from_matrix()
    if request.param == "protein":
        return SequenceAligner.pretrained()
    rows = [("ACGU-ACG", "ACGUUACG"), ("GGCA", "GG-A")] * 3
    pairs = [tuple(row.replace("-", "") for row in both) for both in rows]
    options = {"alphabet": "nucleotide", "overhangs": "one", "run": Run(max_iterations=3)}
    return SequenceAligner(penalty=1, **options).fit(pairs, rows)


@pytest.mark.filterwarnings("ignore:the fit has not converged")
@pytest.mark.parametrize("gamma", GAMMAS)
def test_all_at_once(aligner, gamma):
    pairs = drawn(40, 30, "ACGU" if aligner.alphabet == "nucleotide" else "ARNDCQEGHILKMFPSTWYV")
    structure, w = aligner._structure, aligner.coef_
    shard = structure.encode([*pairs, ("A" * 70, "A" * 3), ("", "A"), pairs[0]])
    partners, left = structure._best_accuracy_of_short(w, shard, gamma)
    assert left.tolist() == [40]
    expected = each(structure, w, shard, gamma)
    assert_as_accurate(structure, w, shard, gamma, structure.best_accuracy(w, shard, gamma), expected)
    is_short = np.repeat(np.arange(len(shard)) != 40, shard.lengths[:, 0])
    partners[~is_short] = expected[~is_short]
    assert_as_accurate(structure, w, shard, gamma, partners, expected)


def test_what_leaves_the_range_is_left(monkeypatch):
    aligner = SequenceAligner.pretrained()
    structure, w = aligner._structure, aligner.coef_
    shard = structure.encode(drawn(40, 60))
    expected = each(structure, 12.0 * w, shard, 1.0)
    found = structure.best_accuracy(12.0 * w, shard, 1.0)
    assert_as_accurate(structure, 12.0 * w, shard, 1.0, found, expected)
    _, left = structure._best_accuracy_of_short(1e3 * w, shard, 1.0)
    assert_array_equal(left, np.arange(40))
    monkeypatch.setattr(inference, "LOST", 0.0)
    _, left = structure._best_accuracy_of_short(w, shard, 1.0)
    assert left.size > 30
    assert_array_equal(structure.best_accuracy(w, shard, 1.0), each(structure, w, shard, 1.0))
