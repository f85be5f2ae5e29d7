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
        Examples of one group are left out together.
    random_state : int
    """
    _, group = np.unique(np.arange(len(shard)) if groups is None else np.asarray(groups), return_inverse=True)
    n = int(group.max()) + 1
    parts = 1 + np.random.default_rng(random_state).permutation(n) % FOLDS if n > 1 else np.zeros(1)
    shard = replace(shard, tables=parts[group].astype(np.int8))
    return ExonGraph(graph.weights, counted(graph, [shard])), shard


def counted(graph: ExonGraph, shards: Iterable[ExonShard]) -> Scaling:
    """Tables of all examples, and without those whose table each is."""
    counts, decoys = np.zeros((2, FOLDS + 1, len(graph.weights)))
    last = 0
    for shard in shards:
        for k in np.unique(shard.tables).tolist():
            part = shard.take(shard.tables == k)
            part = replace(part, tables=np.zeros(len(part), np.int8))
            graph.features(part, counts[k])
            decoys[k] += graph.decoys(part)
            last = max(last, k)
    left_out = [np.zeros(len(graph.weights)), *counts[1 : last + 1]]
    others = [np.zeros(len(graph.weights)), *decoys[1 : last + 1]]
    tables = [
        log_odds(graph.weights, counts.sum(axis=0) - a, decoys.sum(axis=0) - b)
        for a, b in zip(left_out, others, strict=True)
    ]
    return Scaling(graph.weights, np.array(tables))
