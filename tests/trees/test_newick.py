"""Trees in Newick format: what is read, what is refused, and that time grows with the text alone."""

from contextlib import suppress

import pytest
from structune.trees.newick import format_newick, parse_newick

from structune.errors import DataError


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a;", [("a", None)]),
        ("a", [("a", None)]),
        ("(a,b)r;", [("r", None), ("a", "r"), ("b", "r")]),
        (
            " ( a : 1.5 , 'b c':2e-3 ) 'it''s' [a (comment] ;\n",
            [("it's", None), ("a", "it's"), ("b c", "it's")],
        ),
        ("((a,b)95,c)0.5;", [("a+b+c", None), ("a+b", "a+b+c"), ("a", "a+b"), ("b", "a+b"), ("c", "a+b+c")]),
        ("(1,2)'3';", [("3", None), ("1", "3"), ("2", "3")]),
    ],
)
def test_trees(text, pairs):
    assert parse_newick(text) == pairs


@pytest.mark.parametrize("name", ["a b", "it's", "''", "(", "[x]", "12", "nan", "a:1", "é", "\\", "a\tb"])
def test_names_come_back(name):
    children = {name: ("x", name + "y"), "x": (), name + "y": ()}
    assert parse_newick(format_newick(name, children.get)) == [(name, None), ("x", name), (name + "y", name)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found 0 trees, expected one"),
        (";", "found 0 trees, expected one"),
        ("(a,b", "found 1 parentheses that do not end"),
        ("(a,b));", r"found '\)' outside of parentheses"),
        ("a,b;", "found ',' outside of parentheses"),
        ("(a,b);c;", "found 'c' behind a semicolon, expected one tree"),
        ("(a,,b);", "found a leaf without a name"),
        ("();", "found a leaf without a name"),
        ("(a b,c);", "found 'a b', expected names with spaces in single quotes"),
        ("(a(b),c);", r"found '\(' behind a node"),
        ("(a)(b);", r"found '\(' behind a node"),
        ("(a,'b);", ".*expected a quote or bracket that ends"),
        ("(a,b)[x;", ".*expected a quote or bracket that ends"),
        ("(a:,b);", ".*expected a quote or bracket that ends"),
    ],
)
def test_refused(text, said):
    with pytest.raises(DataError, match=f"Newick: {said}"):
        parse_newick(text)


@pytest.mark.parametrize(
    "part", ["(", "[", "'", "' ", "\\a", "'\\a", "a", "a ", "(a,", "[]", "a:1", "1", ")", " "]
)
def test_long_texts_take_no_time(part):
    """Backtracking took seconds for a hundred letters, or the square of their number."""
    for text in (part * 30_000, f"('{part * 30_000}", f"({part * 30_000});"):
        with suppress(DataError):
            parse_newick(text)
