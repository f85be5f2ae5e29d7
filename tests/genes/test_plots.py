"""Tracks of genes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from structune.errors import DataError
from structune.genes.formats.record import Transcript
from structune.genes.plots import plot_genes
from structune.plots.figure import ACCENT, CONTRAST


def gene(strand, *exons, name="g"):
    return Transcript("c", strand, exons, f"{name}.t", name)


def boxes(figure):
    """Colour and outline of each coding part, in the order of tracks and genes."""
    return [
        (tuple(box.get_facecolor()[0]), box.get_paths()[0].vertices) for box in figure.axes[0].collections
    ]


def colors(figure):
    return [{to_rgba(ACCENT): "same", to_rgba(CONTRAST): "other"}[color] for color, _ in boxes(figure)]


def middle_of(box):
    return (box[:, 1].min() + box[:, 1].max()) / 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.svg"


def test_what_differs_stands_out(path):
    known = [gene("+", (10, 40), (60, 90)), gene("-", (200, 300))]
    found = [gene("+", (10, 40), (70, 90)), gene("+", (200, 300)), gene("-", (200, 300))]
    figure = plot_genes({"known": known, "found": found}, 0, 400, path=path)
    assert sorted(colors(figure)) == ["other"] * 3 + ["same"] * 4
    assert path.read_text().startswith("<?xml")


def test_positions_and_strands(path):
    figure = plot_genes({"one": [gene("+", (10, 40)), gene("-", (100, 190))]}, 0, 200, "title", path)
    (_, forward), (_, reverse) = boxes(figure)
    for box, low, high in ((forward, 10.5, 40.5), (reverse, 100.5, 190.5)):
        assert (box[:, 0].min(), box[:, 0].max()) == (low, high)
    middle = middle_of(forward)
    assert forward[np.isclose(forward[:, 1], middle), 0].tolist() == [40.5]  # the tip
    assert reverse[np.isclose(reverse[:, 1], middle), 0].tolist() == [100.5]
    assert figure.axes[0].get_xlim() == (0.5, 200.5)
    assert figure.axes[0].get_title("left") == "title"


def test_genes_that_overlap_have_rows_of_their_own(path):
    figure = plot_genes({"one": [gene("+", (10, 90)), gene("+", (50, 150)), gene("+", (170, 190))]}, 0, 200)
    heights = [middle_of(box) for _, box in boxes(figure)]
    assert heights[0] == heights[1] < heights[2]  # row by row


def test_names_that_are_no_text(path):
    """SVG with control characters is invalid."""
    plot_genes({"a\x01": [gene("+", (0, 200), name="g\x00")]}, 0, 200, "\x1b", path)
    assert {"a?", "g?"} <= set(re.findall("<!-- (.*?) -->", path.read_text()))
    ElementTree.parse(path)


def test_genes_beyond_are_left_out(path):
    of = [gene("+", (10, 90)), gene("+", (100, 150)), gene("+", (200, 300))]
    assert len(boxes(plot_genes({"one": of}, 90, 200, path=path))) == 1
    assert boxes(plot_genes({"one": [], "two": ()}, 90, 200, path=path)) == []


@pytest.mark.parametrize(("tracks", "start", "end"), [({}, 0, 9), ({"a": []}, 9, 9)])
def test_what_cannot_be_drawn(tracks, start, end):
    with pytest.raises(DataError, match="at least one track and start < end"):
        plot_genes(tracks, start, end)
