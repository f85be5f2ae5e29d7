"""The section "Parameters" of numpydoc docstrings: for the help of commands, and for classes that inherit."""

import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc

# The section up to the next underlined heading; an entry of it, that is "names : type" and the indented lines
# below.
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(?P<names>\w[\w, ]*?) : (?P<type>.*)\n(?P<text>(?:(?:[ \t].*)?\n)*)", re.MULTILINE)


def parameter_entries(doc: str | None) -> Iterator[re.Match[str]]:
    """The entries, with the groups ``names``, ``type`` and ``text``."""
    section = _SECTION.search(cleandoc(doc or "") + "\n")
    return _ENTRY.finditer(section[1] if section else "")


def with_inherited(doc: str, bases: Iterable[str | None], names: Iterable[str]) -> str:
    """Append the entries of these parameters that the docstring lacks, from the first base that has each."""
    doc = cleandoc(doc) + "\n"
    missing = set(names).difference(*(entry["names"].split(", ") for entry in parameter_entries(doc)))
    added = []
    for entry in (entry for base in bases for entry in parameter_entries(base)):
        if entry["names"] in missing:
            missing.remove(entry["names"])
            added.append(entry[0].rstrip() + "\n")
    section = _SECTION.search(doc)
    if section is None or not added:
        return doc
    end = section.start(1) + len(section[1].rstrip())
    return "".join([doc[:end], "\n", *added, doc[end:].removeprefix("\n")])
