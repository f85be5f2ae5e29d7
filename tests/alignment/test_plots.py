"""Dot plots of alignments show what they should, at all sizes; whether they look good was for eyes."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune.alignment.plots import plot_match_probabilities
from structune.errors import DataError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


def centers(collection):
    """Of the shapes of a collection, shape (n, 2): rows and columns."""
    boxes = [path.get_extents() for path in collection.get_paths()]
    return np.array([((box.y0 + box.y1) / 2, (box.x0 + box.x1) / 2) for box in boxes])


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 5), (10, 300), (300, 10), (2000, 2000)])
def test_sizes(n, m, tmp_path):
    table = np.random.default_rng(0).random((n, m)) ** 200
    partner = np.where(np.arange(n) < m, np.arange(n), -1)
    path = tmp_path / "a.png"
    figure = plot_match_probabilities("A" * n, "C" * m, table, partner, f"{n} $", path)
    axes = figure.axes[0]
    squares, outlines = axes.collections
    assert len(squares.get_paths()) == np.count_nonzero(table >= 1e-3)
    assert squares.get_rasterized() == (n == 2000)
    assert len(outlines.get_paths()) == 1
    assert (axes.get_xlim(), axes.get_ylim()) == ((0.5, m + 0.5), (n + 0.5, 0.5))
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_probable_matches_are_on_top():
    table = np.array([[0.2, 0.9], [0.0005, 0.1], [0.3, 0.001]])
    squares = plot_match_probabilities("ACD", "EF", table).axes[0].collections[0]
    assert_allclose(squares.get_array(), [0.001, 0.1, 0.2, 0.3, 0.9])
    assert_allclose(centers(squares), [(3, 2), (2, 2), (1, 1), (3, 1), (1, 2)])


@pytest.mark.parametrize("alignment", [("ACD-EF", "-GHIK-"), ["acd.ef", ".ghik."], [-1, 0, 1, 3, -1]])
def test_matches_are_outlined(alignment):
    axes = plot_match_probabilities("ACDEF", "GHIK", np.zeros((5, 4)), alignment).axes[0]
    assert_allclose(centers(axes.collections[1]), [(2.5, 1.5), (4, 4)])
    assert axes.get_xlabel() == "residue of y (outlined: the alignment)"


def test_titles_of_odd_names(tmp_path):
    table, path = np.eye(2), tmp_path / "a.png"
    figure = plot_match_probabilities("AC", "DE", table, title="$a$ \udce9", path=path)
    assert figure.axes[0].get_title(loc="left") == "$a$ ?"


def test_nothing_matched():
    axes = plot_match_probabilities("AC", "D", np.zeros((2, 1)), [-1, -1]).axes[0]
    assert [len(shapes.get_paths()) for shapes in axes.collections] == [0, 0]


def test_letters_stand_where_they_can_be_read():
    texts = [text.get_text() for text in plot_match_probabilities("ACD", "E$", np.eye(3, 2)).axes[0].texts]
    assert sorted(texts) == ["$", "A", "C", "D", "E"]
    texts = plot_match_probabilities("AC" * 5, "D" * 300, np.zeros((10, 300))).axes[0].texts
    assert "".join(text.get_text() for text in texts) == "AC" * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "A", np.zeros((0, 1))), "found sequences of 0 and 1 residues, expected at least one each"),
        (("AC", "DEF", np.zeros((3, 2))), "found probabilities of shape (3, 2), expected (2, 3)"),
        (("AC", "D", [0.5, 0.5]), "found probabilities of shape (2,), expected (2, 1)"),
        (("AC", "D", [[0.5], [np.nan]]), "found a probability that is not within [0, 1]"),
        (("AC", "D", [[0.5], [1.5]]), "found a probability that is not within [0, 1]"),
        (("AC", "D", [[0], [1]], ("AC", "-E")), "alignment, y: found 'E' in the alignment at residue 0"),
        (("AC", "D", [[0], [1]], ("AC", "D")), "alignment: found rows of 2 and 1 columns"),
        (("AC", "D", [[0], [1]], [0]), "found an alignment of shape (1,) and type int64, expected two rows"),
        (("AC", "D", [[0], [1]], [0.0, -1.0]), "and type float64, expected two rows of text, or 2 integers"),
        (("AC", "D", [[0], [1]], [-1, 1]), "found the partner 1, expected one in 0..0, or -1 for none"),
        (("AC", "D", [[0], [1]], [-2, 0]), "found the partner -2, expected one in 0..0"),
        (("AC", "DE", np.eye(2), [1, 0]), "found matches that cross or share a residue"),
        (("AC", "DE", np.eye(2), [1, 1]), "found matches that cross or share a residue"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(DataError, match=re.escape(message)):
        plot_match_probabilities(*arguments)
