"""Trees of related tasks: leaves are tasks, and inner nodes are groups of tasks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self

from structune.errors import DataError

_ROOT = "root"
_MOST_LEVELS = 200  # what lies deeper is no tree of tasks; and names of inner nodes grow with it
# None of these goes back: the time is in proportion to the text, whatever that is.
_TOKEN = re.compile(
    r"\s*+(?:(?P<mark>[(),;])|(?P<length>:\s*+[^\s(),:;'\[\]]++)|(?P<comment>\[[^\]]*+\])"
    r"|'(?P<quoted>(?:[^']|'')*+)'|(?P<plain>[^\s(),:;'\[\]]++)|(?P<end>\Z))"
)
_PLAIN = re.compile(r"[^\s(),:;'\[\]]+")


class TaskTree:
    """A rooted tree of tasks in which every node has a name.

    Parameters
    ----------
    parents : mapping of str to str or None, or iterable of pairs (node, parent)
        Parent of each node. The root has the parent None, or no entry.

    Attributes
    ----------
    root : str
        Name of the root.
    nodes : tuple of str
        All nodes, each after its parent; children are in the order in which they were given.
    leaves : tuple of str
        The tasks, in the order of `nodes`.

    Raises
    ------
    DataError
        There are no nodes, several roots, a cycle, two nodes with the same name, or an empty name.

    Examples
    --------
    >>> nested = {"bacteria": {"proteobacteria": ["E. coli", "H. influenzae"], "B. subtilis": None}}
    >>> tree = TaskTree.from_nested(nested)
    >>> tree.leaves
    ('E. coli', 'H. influenzae', 'B. subtilis')
    >>> tree.path("E. coli")
    ('bacteria', 'proteobacteria', 'E. coli')
    """

    def __init__(self, parents: Mapping[str, str | None] | Iterable[tuple[str, str | None]]) -> None:
        pairs = list(parents.items() if isinstance(parents, Mapping) else parents)
        for name, n in Counter(name for name, _ in pairs).items():
            if n > 1:
                raise DataError(f"{n} nodes have the name {name!r}; names must be unique")
        known: dict[str, str | None] = dict(pairs)
        known |= {parent: None for _, parent in pairs if parent is not None and parent not in known}
        if not known:
            raise DataError("the tree has no nodes")
        self._parent = known
        self._children: dict[str | None, list[str]] = {name: [] for name in (None, *known)}
        for name, parent in known.items():
            if not isinstance(name, str) or not name:
                raise DataError(f"the name of a node must be a string that is not empty, not {name!r}")
            self._children[parent].append(name)
        roots = self._children[None]
        if len(roots) > 1:
            raise DataError(f"a tree has one root, but here are several: {', '.join(map(repr, roots))}")
        self.nodes = tuple(self._below(roots[0])) if roots else ()
        if len(self.nodes) < len(known):
            way, node = list[str](), next(name for name in known if name not in self.nodes)
            while node not in way:  # what is not below a root leads up to a cycle
                way.append(node)
                node = known[node] or ""
            cycle = [*way[way.index(node) :], node]
            raise DataError(f"this is not a tree, since it has a cycle: {' -> '.join(cycle)}")
        self.root = roots[0]
        self.leaves = tuple(name for name in self.nodes if not self._children[name])

    @classmethod
    def from_nested(cls, nested: Any) -> Self:
        """Make a tree from nested dicts.

        Parameters
        ----------
        nested : mapping or collection of str
            Each key is the name of a node, and its value what is below: a mapping, a collection of names of
            leaves, or nothing (None or empty) for a leaf. Several nodes at the top get the parent "root".
        """
        pairs = list(_nested_pairs(nested, None))
        if sum(parent is None for _, parent in pairs) > 1:
            pairs = [(_ROOT, None), *((name, parent or _ROOT) for name, parent in pairs)]
        return cls(pairs)

    @classmethod
    def from_newick(cls, text: str) -> Self:
        """Make a tree from a text in Newick format. Branch lengths and comments are ignored.

        Inner nodes without a name, or with a number (a support value), are named by the leaves below them,
        joined by "+". Names with spaces or punctuation must be in single quotes.
        """
        return cls(_newick_pairs(text))

    def to_newick(self) -> str:
        """Return the tree in Newick format, with the names of inner nodes."""

        def below(name: str) -> str:
            inner = ",".join(map(below, self._children[name]))
            plain = _PLAIN.fullmatch(name) and not _is_number(name)
            return (f"({inner})" if inner else "") + (name if plain else "'" + name.replace("'", "''") + "'")

        return f"{below(self.root)};"

    def __contains__(self, name: object) -> bool:
        return name in self._parent

    def __len__(self) -> int:
        return len(self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskTree) and self._parent == other._parent

    def __hash__(self) -> int:
        return hash(frozenset(self._parent.items()))

    def __repr__(self) -> str:
        return f"TaskTree.from_newick({self.to_newick()!r})"

    def parent(self, name: str) -> str | None:
        """Return the parent of a node; None for the root."""
        return self._parent[self._known(name)]

    def children(self, name: str) -> tuple[str, ...]:
        """Return the children of a node."""
        return tuple(self._children[self._known(name)])

    def path(self, name: str) -> tuple[str, ...]:
        """Return the nodes from the root to `name`."""
        found = [self._known(name)]
        while (parent := self._parent[found[-1]]) is not None:
            found.append(parent)
        return tuple(reversed(found))

    def leaves_below(self, name: str) -> tuple[str, ...]:
        """Return the tasks below a node, or the node itself if it is a leaf."""
        return tuple(node for node in self._below(self._known(name)) if not self._children[node])

    @cached_property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The nodes by their distance from the root, the root first."""
        found: list[tuple[str, ...]] = []
        level = [self.root]
        while level:
            found.append(tuple(level))
            level = [child for name in level for child in self._children[name]]
        return tuple(found)

    def _below(self, name: str) -> Iterator[str]:
        waiting = [name]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(self._children[node])

    def _known(self, name: str) -> str:
        if name not in self._parent:
            raise DataError(f"the tree has no node {name!r}. Nodes: {', '.join(self.nodes)}")
        return name


def _nested_pairs(nested: Any, parent: str | None) -> Iterator[tuple[str, str | None]]:
    if nested is None:
        return
    if isinstance(nested, str) or not hasattr(nested, "__iter__"):
        where = "tree" if parent is None else f"below {parent!r}"
        raise DataError(f"{where}: {nested!r} is not a mapping, a list of names or None")
    for name in nested:
        yield name, parent
        if isinstance(nested, Mapping):
            yield from _nested_pairs(nested[name], name)


def _newick_pairs(text: str) -> list[tuple[str, str | None]]:
    """The nodes of a tree in Newick format with their parents, each after its parent."""
    names, parents, inner = [""], list[int | None]([None]), set[int]()
    at, n_levels, is_whole, place = 0, 0, False, 0
    # One pass: `at` is the node whose name, length or mark comes next. "(" begins a child of it, "," a
    # sibling, and ")" goes back to its parent, whose name follows. So parents come before their children.
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            what = "an open quote or bracket, or a missing branch length"
            raise DataError(f"Newick: {text[place : place + 20]!r} cannot be read ({what})")
        place, form = match.end(), str(match.lastgroup)
        token, above = str(match[form]), parents[at]
        if is_whole and form in ("mark", "quoted", "plain"):
            raise DataError(f"Newick: {token[:20]!r} follows the semicolon; give only one tree")
        if form == "quoted" or (form == "plain" and not (at in inner and _is_number(token))):
            token = token.replace("''", "'") if form == "quoted" else token
            if names[at]:
                shown = f"{names[at]} {token}"[:40]
                raise DataError(f"Newick: put names with spaces in single quotes, such as {shown!r}")
            names[at] = token
        elif form != "mark":  # lengths, comments, and numbers behind inner nodes, which are supports
            continue
        elif token == ";":
            is_whole = True
        elif token == "(":
            if names[at] or at in inner:
                raise DataError("Newick: '(' follows a node; a comma is missing between them")
            inner.add(at)
            n_levels += 1
            if n_levels > _MOST_LEVELS:
                raise DataError(f"Newick: there are more than {_MOST_LEVELS} levels of parentheses")
            parents.append(at)
        elif above is None:
            raise DataError(f"Newick: {token!r} is outside of parentheses")
        elif token == ",":
            parents.append(above)
        else:
            at = above
            n_levels -= 1
        if len(parents) > len(names):
            at = len(names)
            names.append("")
    if n_levels:
        raise DataError(f"Newick: {n_levels} parentheses are not closed")
    if not inner and not names[0]:
        raise DataError("Newick: there is no tree")
    # the names of the leaves of each node, from behind
    below: dict[int | None, list[str]] = defaultdict(list)
    for node, parent in reversed([*enumerate(parents)]):  # children come before their parents here
        if node not in inner and not names[node]:
            raise DataError("Newick: a leaf has no name; perhaps there is a comma too many, as in '(a,,b);'")
        leaves = below.pop(node, [names[node]])
        names[node] = names[node] or "+".join(reversed(leaves))
        below[parent] += leaves
    return [(name, None if p is None else names[p]) for name, p in zip(names, parents, strict=True)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
