"""``structune train prokaryotic-genes --tree``."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import typer
from rich.table import Table

from structune.cli.checks import INTERRUPTED, check_apart, check_targets, say, short_warnings
from structune.cli.learning import check_begun, save
from structune.cli.reports import write_tables_page
from structune.cli.settings import Results
from structune.cli.tables import new_table, print_tables, record_table
from structune.errors import DataError
from structune.genes.commands.data import paired
from structune.genes.commands.genetic_codes import learn_by_code_of
from structune.genes.commands.options import Source, Test
from structune.genes.commands.training import described
from structune.genes.formats.genomes import read_genomes
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.trees.multitask import MultitaskEstimator
from structune.trees.task_tree import TaskTree

_MOST_NODES = 40
_ENDING = re.compile(r"(\.(gb|gbk|gbff|genbank|gff|gff3|gtf))?(\.gz)?\Z", re.IGNORECASE)


def run_tree(
    source: Source,
    test: Test,
    tree_file: Path,
    finder: ProkaryoticGeneFinder,
    results: Results,
    finds_code: bool,
) -> int:
    """Fit every node of a tree, save, report; returns the exit code."""
    if test.test or test.test_sequences:
        raise DataError("found --test with --tree, expected evaluate genes with --task after training")
    check_targets([results.model], [], results.report)
    genes = [path for _, path in map(_named, source.train)]
    check_apart([tree_file, *genes, *(source.sequences or [])], [results.model, results.report])
    tree = _read_tree(tree_file)
    genomes = _read_tasks(source, tree)
    if finds_code:
        learn_by_code_of(finder, chain.from_iterable(genomes.values()), str(source.train[0]))
    model = MultitaskEstimator(
        finder,
        tree,
        n_jobs=finder.n_jobs,
        executor=finder.executor,
        checkpoint=finder.checkpoint,
        verbose=finder.verbose,
    )
    start = time.perf_counter()
    try:
        with short_warnings():
            model.fit({task: (of, [each.transcripts for each in of]) for task, of in genomes.items()})
    except KeyboardInterrupt:
        typer.echo("structune: interrupted", err=True)
        return INTERRUPTED
    seconds = time.perf_counter() - start
    check_begun(model.model_)
    save(model, results.model)
    data = f"{len(genomes)} tasks, {described(list(chain.from_iterable(genomes.values())))}"
    _tell(model, [("data", data)], seconds, results)
    return 0


def _read_tree(path: Path) -> TaskTree:
    try:
        text = path.read_text(encoding="utf-8")
        is_nested = path.suffix.lower() == ".json"
        return TaskTree.from_nested(json.loads(text)) if is_nested else TaskTree.from_newick(text)
    except (ValueError, RecursionError) as error:  # of what is read: no text, no JSON, or no tree
        raise DataError(f"{path}: {error}") from error


def _read_tasks(source: Source, tree: TaskTree) -> dict[str, list[AnnotatedSequence]]:
    """The sequences of each task; those of several files in one list."""
    files = [_named(given) for given in source.train]
    for task, path in files:
        if task not in tree.leaves:
            leaves = ", ".join(tree.leaves)
            raise DataError(f"{path}: found the task {task!r}, expected a leaf of the tree: {leaves}")
    found: dict[str, list[AnnotatedSequence]] = defaultdict(list)
    both = paired([path for _, path in files], source.sequences)
    for (task, _), (path, fasta) in zip(files, both, strict=True):
        found[task] += read_genomes(path, fasta, source.stop_codon, say)
    for task, of in found.items():
        if not any(each.transcripts for each in of):
            raise DataError(f"task {task!r}: found no gene to learn from")
    return dict(found)


def _named(given: Path) -> tuple[str, Path]:
    """Task and file of an argument: NAME=FILE, or a file that is named after its task."""
    name, is_named, path = str(given).partition("=")
    if is_named and not given.exists():
        return name, Path(path)
    return _ENDING.sub("", given.name, count=1), given


def _tell(
    model: MultitaskEstimator, data: Iterable[tuple[str, str]], seconds: float, results: Results
) -> None:
    """What the training was, and the priors of the nodes."""
    root = model.model_
    rows = [
        *data,
        ("weights of a node", f"{root.coef_.size:,}"),
        ("passes over the data", f"{root.passes_:.1f}"),
        ("seconds", f"{seconds:.1f}"),
        ("saved", str(results.model)),
    ]
    record = record_table("Training", rows)
    print_tables(_nodes(model, _MOST_NODES), record)
    if results.report is not None:
        write_tables_page(results.report, {"Training": record, "Nodes of the tree": _nodes(model)})


def _nodes(model: MultitaskEstimator, most: int | None = None) -> Table:
    """A row a node, indented by its depth; of very many the first."""
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
