"""Trees in Newick format: names of nodes in nested parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable

from structune.errors import DataError

_MOST_LEVELS = 200  # what lies deeper is no tree of tasks; and names of inner nodes grow with it
# None of these goes back: the time is in proportion to the text, whatever that is.
_TOKEN = re.compile(
    r"\s*+(?:(?P<mark>[(),;])|(?P<length>:\s*+[^\s(),:;'\[\]]++)|(?P<comment>\[[^\]]*+\])"
    r"|'(?P<quoted>(?:[^']|'')*+)'|(?P<plain>[^\s(),:;'\[\]]++)|(?P<end>\Z))"
)
_PLAIN = re.compile(r"[^\s(),:;'\[\]]+")


def parse_newick(text: str) -> list[tuple[str, str | None]]:
    """The nodes of a tree with their parents, each after its parent.

    Inner nodes without a name, or with a number, which is a support, get the names of the leaves below them,
    joined by "+". Branch lengths and comments are left out.

    Raises
    ------
    DataError
        Anything but one tree; leaves without names; names with spaces that are not quoted.
    """
    tree = _Tree()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise DataError(
                f"Newick: found {text[at : at + 20]!r}, expected a quote or bracket that ends, or a length"
            )
        at = match.end()
        tree.add(str(match.lastgroup), str(match[str(match.lastgroup)]))
    return tree.pairs()


def format_newick(root: str, children: Callable[[str], tuple[str, ...]]) -> str:
    """The tree below a node, on one line."""

    def below(name: str) -> str:
        inner = ",".join(map(below, children(name)))
        return (f"({inner})" if inner else "") + _quoted(name)

    return f"{below(root)};"


class _Tree:
    """Nodes as they come: parents before children, names behind these."""

    def __init__(self) -> None:
        self._names: list[str] = [""]
        self._parents: list[int | None] = [None]
        self._inner: set[int] = set()
        self._at, self._n_levels, self._is_whole = 0, 0, False

    def add(self, form: str, token: str) -> None:
        if self._is_whole and form in ("mark", "quoted", "plain"):
            raise DataError(f"Newick: found {token[:20]!r} behind a semicolon, expected one tree")
        if form == "mark":
            self._move(token)
        elif form == "quoted":
            self._name(token.replace("''", "'"))
        elif form == "plain" and not (self._at in self._inner and _is_number(token)):
            self._name(token)

    def _name(self, token: str) -> None:
        if known := self._names[self._at]:
            shown = f"{known} {token}"[:40]
            raise DataError(f"Newick: found {shown!r}, expected names with spaces in single quotes")
        self._names[self._at] = token

    def _move(self, mark: str) -> None:
        above = self._parents[self._at]
        if mark == "(":
            if self._names[self._at] or self._at in self._inner:
                raise DataError("Newick: found '(' behind a node, expected a comma between")
            self._inner.add(self._at)
            self._n_levels += 1
            if self._n_levels > _MOST_LEVELS:
                raise DataError(f"Newick: found more than {_MOST_LEVELS} levels of parentheses")
            self._add_below(self._at)
        elif mark == ";":
            self._is_whole = True
        elif above is None:
            raise DataError(f"Newick: found {mark!r} outside of parentheses")
        elif mark == ",":
            self._add_below(above)
        else:
            self._at = above
            self._n_levels -= 1

    def _add_below(self, parent: int) -> None:
        self._at = len(self._names)
        self._names.append("")
        self._parents.append(parent)

    def pairs(self) -> list[tuple[str, str | None]]:
        """The names of all nodes and of their parents."""
        if self._n_levels:
            raise DataError(f"Newick: found {self._n_levels} parentheses that do not end")
        if not self._inner and not self._names[0]:
            raise DataError("Newick: found 0 trees, expected one")
        names = self._all_names()
        return [(name, None if p is None else names[p]) for name, p in zip(names, self._parents, strict=True)]

    def _all_names(self) -> list[str]:
        names, leaves = list(self._names), list[list[str]]([[] for _ in self._names])
        for node in range(len(names) - 1, -1, -1):  # children come before their parents here
            below = leaves[node][::-1] if node in self._inner else [names[node]]
            if node not in self._inner and not names[node]:
                raise DataError("Newick: found a leaf without a name, expected one")
            names[node] = names[node] or "+".join(below)
            leaves[node] = []
            if (parent := self._parents[node]) is not None:
                leaves[parent] += below[::-1]
        return names


def _quoted(name: str) -> str:
    if _PLAIN.fullmatch(name) and not _is_number(name):
        return name
    escaped = name.replace("'", "''")
    return f"'{escaped}'"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
