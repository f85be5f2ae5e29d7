"""``train --tree``: a model for each node of a tree of related tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from rich.table import Table

from structune.cli.task import Task
from structune.cli.terminal import new_table
from structune.errors import DataError
from structune.files.text import plural
from structune.trees.multitask import MultitaskEstimator
from structune.trees.task_tree import TaskTree

MOST_SHOWN = 40  # rows of the terminal


def read_tree(path: Path) -> TaskTree:
    """Read a tree in Newick format or, if the name ends in .json, as nested objects."""
    try:
        text = path.read_text(encoding="utf-8")
        is_nested = path.suffix.lower() == ".json"
        return TaskTree.from_nested(json.loads(text)) if is_nested else TaskTree.from_newick(text)
    except (ValueError, RecursionError) as error:  # of what is read: no text, no JSON, or no tree
        raise DataError(f"{path}: {error}") from error


def path_of(given: str) -> str:
    """The file of FILE or NAME=FILE."""
    return given if "=" not in given or os.path.exists(given) else given.partition("=")[2]


def task_of(given: str, tree: TaskTree) -> str:
    """The leaf of FILE, which has its name (without endings), or of NAME=FILE."""
    path = path_of(given)
    if path != given:
        names = [given.partition("=")[0]]
    else:
        names, n = [PurePath(path).name], len(PurePath(path).suffixes)
        names += [names[0].rsplit(".", k)[0] for k in range(1, n + 1)]
    for name in names:
        if name in tree.leaves:
            return name
    leaves = ", ".join(tree.leaves)
    raise DataError(
        f"{given}: no leaf of the tree is called {names[-1]!r}. The leaves are {leaves}. Write NAME=FILE to "
        "assign a file to a leaf."
    )


def fit_tree(
    task: Task, tree: TaskTree, files: Sequence[str], beside: Iterable[str], learning: Any, model: Any
) -> tuple[MultitaskEstimator, list[tuple[str, str]], Any]:
    """Read the files of all tasks, each FILE or NAME=FILE, and fit a model of the tree.

    `beside` are reading options that name one file for each of these. Returns the model, rows of a table
    about the data, and the extra data to save with the model.
    """
    others = {name: getattr(learning, name) for name in beside if getattr(learning, name)}
    for name, paths in others.items():
        if len(paths) != len(files):
            told = f"--{name} is given {plural(len(paths), 'time')}, for {len(files)} training files."
            raise DataError(f"{told} Give it once for each file.")
    # several files may be of one leaf; what lies beside a file, such as its sequences, goes with it
    numbers: dict[str, list[int]] = {}
    for number, given in enumerate(files):
        numbers.setdefault(task_of(given, tree), []).append(number)
    read = {
        name: task.read(
            [path_of(files[k]) for k in some],
            replace(learning, **{other: tuple(paths[k] for k in some) for other, paths in others.items()}),
            model,
        )
        for name, some in numbers.items()
    }
    # nodes are fitted by copies of `model`; budget, checkpoint and executor are those of the tree as a whole
    run, model.run = model.run, None
    found = MultitaskEstimator(model, tree, n_jobs=model.n_jobs, run=run, verbose=model.verbose)
    found.fit({name: examples.data for name, examples in read.items()})
    rows = [(f"data of {name}", text) for name, examples in read.items() for _, text in examples.told[:1]]
    if len(rows) > MOST_SHOWN:
        rows[MOST_SHOWN:] = [("...", f"and {len(rows) - MOST_SHOWN:,} more")]
    return found, [("tasks", f"{len(read):,}"), *rows], next(iter(read.values())).header


def nodes_table(model: MultitaskEstimator, most: int | None = None) -> Table:
    """A row for each node, indented by its depth; at most `most` rows."""
    table = new_table("Nodes of the tree", ["node"], ["examples", "gamma", "factor", "status"])
    found = [node for node in model.tree_.nodes if node in model.nodes_]
    for node in found[:most]:
        told, depth = model.nodes_[node], len(model.tree_.path(node)) - 1
        gamma = f"{told['gamma']:g}" if depth else ""  # the root is drawn to nothing
        table.add_row(
            "  " * depth + node, f"{told['n_examples']:,}", gamma, f"{told['factor']:g}", told["status"]
        )
    if most is not None and len(found) > most:
        table.add_row(f"... and {len(found) - most:,} more")
    return table
