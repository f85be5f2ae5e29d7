"""Layouts keep their distances, and figures say what they should; whether they look good was for eyes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.rna.formats.brackets import partners
from structune.rna.plots import (
    PAIR_LENGTH,
    layout,
    plot_pair_probabilities,
    plot_sensitivity_ppv,
    plot_structure,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")

TRNA = "GGGCCCAUAGCUCAGCCUGGGAGAGCGCCGCCCUUGCAAGGCGGAGGCCCCGGGUUCAAAUCCCGGUGGGUCCA"
CLOVER = "(((((((..((((.........)))).(((((.......))))).....(((((.......))))))))))))."
HAIRPIN = "..((((......))))..."


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


def random_structure(rng, n):
    """Nested pairs in stacks of three, at least three bases apart."""
    found = ["."] * n
    spans = [(0, n)]
    while spans:
        low, high = spans.pop()
        if high - low < 12:
            continue
        i, j = np.sort(rng.integers(low, high, 2))
        if j - i < 10:
            spans += [(low, i), (j, high)]
            continue
        found[i : i + 3], found[j - 3 : j] = "(((", ")))"
        spans += [(low, i), (i + 3, j - 3), (j, high)]
    return "".join(found)


def distances(xy):
    return np.hypot(*np.diff(xy, axis=0).T)


def pair_distances(xy, found):
    i = np.flatnonzero(found > np.arange(found.size))
    return np.hypot(*(xy[i] - xy[found[i]]).T)


def closest(xy):
    apart = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    return np.min(apart + 9 * np.eye(len(xy)))


def texts(axes):
    return {text.get_text() for text in axes.texts}


@pytest.mark.parametrize("structure", [HAIRPIN, "()", "(.)", "(())", "((.)).", "(((((...)))))"])
def test_layout_of_a_hairpin(structure):
    found = partners(structure)
    xy = layout(found)
    assert pair_distances(xy, found) == pytest.approx(PAIR_LENGTH)
    if "(.)" not in structure and "()" not in structure:
        assert distances(xy) == pytest.approx(np.ones(len(xy) - 1))
    assert closest(xy) > 0.99


@given(st.integers(0, 10_000), st.integers(2, 150))
def test_layout_keeps_distances(seed, n):
    found = partners(random_structure(np.random.default_rng(seed), n))
    xy = layout(found)
    assert np.all(np.isfinite(xy))
    assert pair_distances(xy, found) == pytest.approx(PAIR_LENGTH)
    assert distances(xy).min() > 0.99


OVERHANG = "...(" + "." * 40 + ")..."  # the loop is wider than its pair, and as low as the bases beside it


@pytest.mark.parametrize("structure", [CLOVER, HAIRPIN * 3, HAIRPIN * 20, OVERHANG, OVERHANG * 12])
def test_nothing_lies_on_anything(structure):
    assert closest(layout(partners(structure))) > 0.9


def test_plot_structure():
    figure = plot_structure(TRNA, CLOVER, title="a $ tRNA")
    (axes,) = figure.axes
    assert texts(axes) == {"5'", "3'", *(str(k) for k in range(10, 71, 10))}
    assert figure.get_suptitle() == "a $ tRNA"
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert heights["5'"] > heights["30"]  # the clover leaf hangs on its stem


def test_two_strands_have_four_ends():
    figure = plot_structure("GGGAAA&UUUCCC", "((((((&))))))")
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["10", "3'", "3'", "5'", "5'"]
    backbone = axes.collections[0].get_segments()
    assert len(backbone) == 10
    circle = None, None, None, True
    wrong = [("GGGAAA&UUUCCC", "((()))"), ("GG&", "..&"), ("G&G&G", ".&.&."), ("AC&G", ".&..")]
    for arguments in (*wrong, ("AC&G", "()&.", *circle)):
        with pytest.raises(DataError, match=r"sequence has|occur only once|has it at 3|be combined"):
            plot_structure(*arguments)


@pytest.mark.parametrize("structure", ["." * 30, "((((...))))..(((....)))......", ".((...)).."])
def test_circles_close(structure):
    found = partners(structure)
    xy = layout(found, circular=True)
    assert closest(xy) > 0.7
    steps = np.hypot(*(xy - np.roll(xy, 1, axis=0)).T)
    assert np.all(steps > 0.8)
    assert steps[0] < 1.9
    figure = plot_structure("A" * found.size, structure, circular=True)
    assert texts(figure.axes[0]) >= {"1"}


def test_labels_lie_on_nothing():
    figure = plot_structure(TRNA, CLOVER)
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    bases = axes.transData.transform(axes.collections[-1].get_offsets())
    assert len(bases) == len(TRNA)
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert not any(box.contains(*base) for base in bases)


def test_bases_may_be_coloured_by_probability():
    n = len(TRNA)
    table, found = np.zeros((n, n)), partners(CLOVER)
    i = np.flatnonzero(found > np.arange(n))
    table[i, found[i]] = 0.25
    upper, both = (plot_structure(TRNA, CLOVER, given) for given in (table, table + table.T))
    each = plot_structure(TRNA, CLOVER, np.where(found < 0, 1.0, 0.25))
    assert len(each.axes) == 2
    colors = [figure.axes[0].collections[-1].get_facecolors() for figure in (upper, both, each)]
    assert colors[0] == pytest.approx(colors[1])
    assert colors[0] == pytest.approx(colors[2])


@pytest.mark.parametrize(
    ("sequence", "structure"),
    [
        ("A", "."),
        ("ac", "()"),
        ("GAUTN$", "(...)."),
        ("ACGU" * 4, "((..[[..))..]]" + ".."),
        ("ACG", [2, -1, 0]),
        ("ACGU" * 400, "." * 1600),
        ("GGAA&CC", "((..&))"),
        ("A&C", ".&."),
    ],
)
def test_odd_structures_are_drawn(sequence, structure, tmp_path, monkeypatch):
    monkeypatch.setattr("structune.plots.figure.DPI", 20)
    n = len(sequence.replace("&", ""))
    for probabilities in (None, np.full(n, 0.5))[: 2 if n < 20 else 1]:
        plot_structure(sequence, structure, probabilities, path=tmp_path / "a.png")
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("n", [1, 100])
def test_plot_pair_probabilities(n):
    rng = np.random.default_rng(0)
    table = np.triu(rng.random((n, n)) ** 20, 1)
    figure = plot_pair_probabilities("A" * n, table, "(" + "." * (n - 2) + ")" if n > 1 else None)
    axes = figure.axes[0]
    squares = axes.collections[0]
    assert len(squares.get_paths()) == np.count_nonzero(table >= 1e-3)
    assert axes.get_xlim() == (0.5, n + 0.5)
    if n > 1:
        below = axes.collections[1].get_paths()[0].vertices[:4].mean(axis=0)
        assert below == pytest.approx([1, n])
    figure.canvas.draw()


def test_plot_sensitivity_ppv():
    curves = {"a": ([0.8, 0.6, 0.2], [0.5, 0.7, 0.9]), "b $": ([0.5], [0.5])}
    figure = plot_sensitivity_ppv(curves)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a (area 0.620)", "b $"]
    figure.canvas.draw()
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_window_extent())


@pytest.mark.parametrize(
    ("plot", "arguments", "message"),
    [
        (plot_structure, ("ACG", ".(."), "position 2"),
        (plot_structure, ("ACG", ".."), "the structure has 2 bases, but the sequence has 3"),
        (plot_structure, ("ACG", [1, -1, -1]), "neither -1 nor"),
        (plot_structure, ("", ""), "empty"),
        (plot_structure, ("ACG", "...", np.zeros((2, 2))), r"shape \(2, 2\), expected \(3, 3\)"),
        (plot_structure, ("ACG", "...", [0, 0.5, np.nan]), "numbers from 0 to 1"),
        (plot_pair_probabilities, ("ACG", np.zeros(3)), "shape"),
        (plot_pair_probabilities, ("ACG", np.zeros((2, 2))), "shape"),
        (plot_pair_probabilities, ("ACG", np.full((3, 3), 2.0)), "numbers from 0 to 1"),
        (plot_sensitivity_ppv, ({},), "1 to 7 curves, not 0"),
        (plot_sensitivity_ppv, ({str(k): ([0.5], [0.5]) for k in range(8)},), "1 to 7 curves, not 8"),
        (plot_sensitivity_ppv, ({"a": ([], [])},), "the curve 'a' has no points"),
    ],
)
def test_what_cannot_be_drawn(plot, arguments, message):
    with pytest.raises(DataError, match=message):
        plot(*arguments)
