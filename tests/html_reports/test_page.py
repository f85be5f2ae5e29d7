"""Pages are whole, and hold nothing but what they were given."""

import builtins
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.table import Table as RichTable

from structune.errors import StructuneError
from structune.html_reports import Section, check_installed, write_page
from structune.html_reports.page import (
    Fold,
    Picture,
    Table,
    Text,
    Tokens,
    Verbatim,
    from_terminal,
    make_table,
)
from structune.html_reports.pictures import histogram, line, picture, scatter
from structune.plots.figure import finish, new_figure

EVIL = "<script>alert(1)</script>\"'&"
VOID = {"meta", "link", "img", "br"}


class Parsed(HTMLParser):
    """Tags and texts of a page whose elements are closed in order."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())

    def of(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def many_points(height, path):
    figure = new_figure(path, 2.0, height)
    figure.subplots().plot(np.random.default_rng(0).random(5000), "o")
    return finish(figure, path)


def a_picture(scrolls=False):
    return Picture("data:image/png;base64,", EVIL, 100, EVIL, scrolls)


@pytest.fixture
def page(tmp_path):
    def write(*sections, title="A page"):
        write_page(tmp_path / "page.html", title, sections)
        assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
        return Parsed(tmp_path / "page.html")

    return write


def test_texts_are_escaped_everywhere(page):
    table = Table(EVIL, [EVIL], [[EVIL]], [False], [(0.0, 50.0)])
    inner = [Text(EVIL), table, a_picture(), Verbatim(EVIL), Tokens([(EVIL, EVIL, "x")])]
    found = page(Section(EVIL, [*inner, Fold(EVIL, inner)]), title=EVIL)
    assert found.of("script") == []
    assert found.texts.count(EVIL) == 20
    assert all(not name.startswith("on") for _, attrs in found.tags for name in attrs)


def test_nothing_is_loaded_from_elsewhere(page):
    found = page(Section("One", [a_picture(), Text("https://example.org")]), Section("Two"))
    for tag, attrs in found.tags:
        for name in ("src", "href"):
            assert attrs.get(name, "data:").startswith(("data:", "#")), (tag, attrs)
    (policy,) = (meta for meta in found.of("meta") if "http-equiv" in meta)
    assert policy["content"].startswith("default-src 'none'")
    assert [link["href"] for link in found.of("a")] == ["#section-1", "#section-2"]
    assert [section["id"] for section in found.of("section")] == ["section-1", "section-2"]


def test_wide_pictures_scroll_before_they_are_too_small_to_read(page):
    found = page(Section("S", [a_picture(), a_picture(scrolls=True), Text("bad \udcff")]))
    assert [attrs["style"] for attrs in found.of("figure")] == ["--least:67px", "--least:100px"]
    assert "bad ?" in found.texts


def test_what_is_not_installed_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "jinja2":
            raise ImportError("no", name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(StructuneError, match=r"reports need jinja2: pip install 'structune\[reports\]'"):
        check_installed()


def test_tables_of_the_terminal():
    table = RichTable(title="T")
    table.add_column("name")
    table.add_column("n", justify="right")
    table.add_row("a", "1")
    found = from_terminal(table)
    assert (found.title, found.header, found.rows) == ("T", ["name", "n"], [("a", "1")])
    assert found.is_number == [False, True]
    table.show_header = False
    assert from_terminal(table).header == []


def test_long_tables_are_cut():
    rows = [(str(k), "1") for k in range(5)]
    assert make_table("", ["a"], ["b"], rows, 5).rows == rows
    assert make_table("", ["a"], ["b"], rows, 3).rows[2:] == [("2", "1"), ["... and 2 more", ""]]


def test_charts_are_pictures():
    for chart in (scatter([1, 2], [0, 1], "x", "y"), line([1], [0.5], "x", "y"), histogram([], "x", "y")):
        assert chart.uri.startswith("data:image/svg+xml;base64,")
        assert (chart.alt, chart.width) == ("y by x", 432)


def test_large_pictures_are_of_pixels_unless_they_are_too_high_for_webp():
    assert picture(partial(many_points, 2.0), "many").uri.startswith("data:image/webp;base64,")
    assert picture(partial(many_points, 110.0), "many").uri.startswith("data:image/svg+xml;base64,")
