"""Dot plots of alignments show what they should, at all sizes; whether they look good was for eyes."""

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from structune import SequenceAligner
from structune.alignment.plots import plot_guide_tree, plot_match_probabilities
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


@pytest.mark.parametrize(("n", "m"), [(1, 1), (300, 10), (2000, 2000)])
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


@pytest.mark.parametrize("alignment", [["acd.ef", ".ghik."], [-1, 0, 1, 3, -1]])
def test_matches_are_outlined(alignment):
    axes = plot_match_probabilities("ACDEF", "GHIK", np.zeros((5, 4)), alignment).axes[0]
    assert_allclose(centers(axes.collections[1]), [(2.5, 1.5), (4, 4)])
    assert axes.get_xlabel() == "residue of y (outlined: the alignment)"


def test_letters_stand_where_they_can_be_read():
    texts = [text.get_text() for text in plot_match_probabilities("ACD", "E$", np.eye(3, 2)).axes[0].texts]
    assert sorted(texts) == ["$", "A", "C", "D", "E"]
    texts = plot_match_probabilities("AC" * 5, "D" * 300, np.zeros((10, 300))).axes[0].texts
    assert "".join(text.get_text() for text in texts) == "AC" * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "A", np.zeros((0, 1))), "x and y must not be empty, but have 0 and 1 residues"),
        (("AC", "DEF", np.zeros((3, 2))), "probabilities must have the shape (2, 3), a row per"),
        (("AC", "D", [[0.5], [np.nan]]), "all probabilities must be numbers from 0 to 1"),
        (("AC", "D", [[0], [1]], ("AC", "-E")), "alignment, y: residue 0 (from 0) is 'E' in the alignment"),
        (("AC", "D", [[0], [1]], [0.0, -1.0]), "alignment must be two rows of text, or 2 integers"),
        (("AC", "D", [[0], [1]], [-1, 1]), "alignment has the value 1, but must be from 0 to 0"),
        (("AC", "DE", np.eye(2), [1, 1]), "alignment has matches that cross or share a residue"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(DataError, match=re.escape(message)):
        plot_match_probabilities(*arguments)


MODEL = SequenceAligner.pretrained().set_params(n_jobs=1)


def labels(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_names_of_guide_trees(tmp_path):
    found = MODEL.align(["MKVLAAGIV", "MKVLAAGIV", "MKIIWAAGV"])
    path = tmp_path / "tree.svg"
    shown = labels(plot_guide_tree(found, ["a$_b$", "c" * 99, "\udce9"], path))
    assert sorted(shown) == ["?", "a$_b$", "c" * 39 + "…"]
    assert path.stat().st_size
    assert sorted(labels(plot_guide_tree(found, path=path))) == ["1", "2", "3"]


def test_many_sequences_have_no_names(tmp_path):
    found = MODEL.align(["MKVLAAGIV"] * 121, all_pairs=10, refinements=0)
    assert not any(labels(plot_guide_tree(found, path=tmp_path / "tree.png")))


def test_a_tree_as_deep_as_it_has_leaves(tmp_path):
    n = 2000
    chain = [[0, 1, 0.5, 2], *([k, n + k - 2, 0.5, k + 1] for k in range(2, n))]
    found = replace(MODEL.align(["MKV"] * 2), rows=["A"] * n, tree=np.array(chain, float))
    (lines,) = plot_guide_tree(found, path=tmp_path / "tree.png").axes[0].collections
    assert len(lines.get_segments()) == n - 1


def test_guide_trees_that_cannot_be():
    with pytest.raises(DataError, match="a tree needs at least two sequences, but the alignment has 1"):
        plot_guide_tree(MODEL.align(["MKV"]))
    with pytest.raises(DataError, match="there are 1 names, but 2 sequences"):
        plot_guide_tree(MODEL.align(["MKV", "MKV"]), ["a"])
