"""What training examples count for the tables of a gene model, each without a part of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.scaling import Scaling, log_odds
from structune.genes.eukaryotes.structure.shard import ExonShard

FOLDS = 10


def scaled(graph: ExonGraph, shard: ExonShard, groups: Any, random_state: int) -> tuple[ExonGraph, ExonShard]:
    """The graph with tables of examples, and the examples, each to be scored by a table without its own.

    Parameters
    ----------
    graph : ExonGraph
        Without a scaling.
    shard : ExonShard
    groups : array-like, shape (n_examples,), or None
        Examples of one group are left out together, if there are enough groups for all parts.
    random_state : int
    """
    each = np.arange(len(shard))
    names, group = np.unique(each if groups is None else np.asarray(groups), return_inverse=True)
    group = group if names.size >= FOLDS else each
    parts = 1 + np.random.default_rng(random_state).permutation(int(group.max()) + 1) % FOLDS
    shard = replace(shard, tables=parts[group].astype(np.int8))
    return ExonGraph(graph.weights, counted(graph, [shard])), shard


def counted(graph: ExonGraph, shards: Iterable[ExonShard]) -> Scaling:
    """Tables of all examples, and without those whose table each is, if there are others."""
    counts, decoys = np.zeros((2, FOLDS + 1, len(graph.weights)))
    sizes = np.zeros(FOLDS + 1, np.int64)
    for shard in shards:
        for k in np.unique(shard.tables).tolist():
            part = shard.take(shard.tables == k)
            part = replace(part, tables=np.zeros(len(part), np.int8))
            graph.features(part, counts[k])
            decoys[k] += graph.decoys(part)
            sizes[k] += len(part)
    every, found = counts.sum(axis=0), decoys.sum(axis=0)
    tables = [log_odds(graph.weights, every, found)]
    for k in range(1, int(np.max(np.flatnonzero(sizes), initial=0)) + 1):
        others = sizes.sum() > sizes[k]
        tables.append(log_odds(graph.weights, every - others * counts[k], found - others * decoys[k]))
    return Scaling(graph.weights, np.array(tables))
