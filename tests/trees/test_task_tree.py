"""Trees of tasks: forms that they come in, relations, what is refused; time grows with a text alone."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.trees.task_tree import TaskTree

BACTERIA = {"bacteria": {"proteobacteria": ["E. coli", "H. influenzae"], "B. subtilis": None}}


@st.composite
def trees(draw):
    """A random parent for each node but the first, among those before it."""
    nodes = draw(
        st.lists(st.from_regex(r"[A-Za-z][\w. '+:,()-]{0,8}", fullmatch=True), min_size=1, unique=True)
    )
    return TaskTree({n: None if k == 0 else nodes[draw(st.integers(0, k - 1))] for k, n in enumerate(nodes)})


def test_forms():
    """Nested dicts, a table of parents, pairs and Newick say the same."""
    parents = {"proteobacteria": "bacteria", "E. coli": "proteobacteria", "H. influenzae": "proteobacteria"}
    parents["B. subtilis"] = "bacteria"
    nested = TaskTree.from_nested(BACTERIA)
    newick = "(('E. coli':1,'H. influenzae':2)proteobacteria:3,'B. subtilis')bacteria;"
    assert nested == TaskTree(parents) == TaskTree(parents.items()) == TaskTree.from_newick(newick)
    assert nested.nodes == ("bacteria", "proteobacteria", "E. coli", "H. influenzae", "B. subtilis")
    assert eval(repr(nested)) == nested


def test_relations():
    tree = TaskTree.from_nested(BACTERIA)
    assert tree.leaves == ("E. coli", "H. influenzae", "B. subtilis")
    assert tree.children("proteobacteria") == ("E. coli", "H. influenzae")
    assert tree.path("E. coli") == ("bacteria", "proteobacteria", "E. coli")
    assert tree.leaves_below("E. coli") == ("E. coli",)
    assert tree.levels == (("bacteria",), ("proteobacteria", "B. subtilis"), ("E. coli", "H. influenzae"))
    assert "E. coli" in tree
    assert "Y. pestis" not in tree


@given(trees())
def test_newick_round_trip(tree):
    again = TaskTree.from_newick(tree.to_newick())
    assert again == tree
    assert again.nodes == tree.nodes


@given(trees())
def test_laws(tree):
    assert tree.leaves_below(tree.root) == tree.leaves
    assert [node for level in tree.levels for node in level if node in tree.leaves]
    assert sorted(node for level in tree.levels for node in level) == sorted(tree.nodes)
    for node in tree.nodes:
        path = tree.path(node)
        assert path[0] == tree.root
        assert [tree.parent(n) for n in path] == [None, *path[:-1]]
        assert all(node in tree.path(child) for child in tree.children(node))
        assert {leaf for leaf in tree.leaves if node in tree.path(leaf)} == set(tree.leaves_below(node))


def test_few_nodes():
    for tree in (TaskTree({"a": None}), TaskTree.from_nested(["a"]), TaskTree.from_newick("a;")):
        assert (tree.root, tree.leaves, len(tree)) == ("a", ("a",), 1)
    tree = TaskTree.from_nested({"a": ["b", "c"], "d": None})  # several at the top get a root
    assert (tree.root, tree.children("root")) == ("root", ("a", "d"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TaskTree({}), "the tree has no nodes"),
        (lambda: TaskTree({"a": None, "b": None}), "several: 'a', 'b'"),
        (lambda: TaskTree({"a": "b", "b": "a"}), "cycle.*a -> b -> a"),
        (lambda: TaskTree([("a", "r"), ("a", "s"), ("s", "r")]), "2 nodes have the name 'a'"),
        (lambda: TaskTree({"": None}), "not empty, not ''"),
        (lambda: TaskTree({1: None}), "not empty, not 1"),
        (lambda: TaskTree.from_nested({"r": ["a", "a"]}), "2 nodes have the name 'a'"),
        (lambda: TaskTree.from_nested("(a,b);"), r"tree: '\(a,b\);' is not a mapping"),
        (lambda: TaskTree.from_nested({"r": {"a": 3}}), "below 'a': 3 is not a mapping"),
        (lambda: TaskTree.from_nested(BACTERIA).path("E coli"), "no node 'E coli'. Nodes: "),
    ],
)
def test_refused(make, said):
    with pytest.raises(DataError, match=said):
        make()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
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
def test_trees_in_newick(text, pairs):
    assert TaskTree.from_newick(text) == TaskTree(pairs)


def test_names_come_back():
    for name in ("a b", "it's", "''", "(", "[x]", "12", "nan", "a:1", "é", "\\", "a\tb"):
        tree = TaskTree({name: None, "x": name, name + "y": name})
        assert TaskTree.from_newick(tree.to_newick()) == tree


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (";", "there is no tree"),
        ("(a,b", "1 parentheses are not closed"),
        ("(a,b));", r"'\)' is outside of parentheses"),
        ("a,b;", "',' is outside of parentheses"),
        ("(a,b);c;", "'c' follows the semicolon; give only one tree"),
        ("(a,,b);", "a leaf has no name"),
        ("(a b,c);", "put names with spaces in single quotes, such as 'a b'"),
        ("(a(b),c);", r"'\(' follows a node"),
        ("(a,'b);", ".*an open quote or bracket"),
        ("(a,b)[x;", ".*an open quote or bracket"),
        ("(a:,b);", ".*an open quote or bracket"),
    ],
)
def test_newick_that_is_refused(text, said):
    with pytest.raises(DataError, match=f"Newick: {said}"):
        TaskTree.from_newick(text)


def test_long_texts_take_no_time():
    """Backtracking took seconds for a hundred letters, or the square of their number."""
    for part in ("(", "[", "'", "' ", "'\\a", "a", "a ", "(a,", "[]", "a:1", "1", ")", " "):
        for text in (part * 30_000, f"('{part * 30_000}", f"({part * 30_000});"):
            with suppress(DataError):
                TaskTree.from_newick(text)
