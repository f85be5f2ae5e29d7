"""Training data of a gene finder: encoded examples, tables counted from them, and the mean of the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, load_shipped
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph, checked_track
from structune.genes.eukaryotes.structure.shard import ExonShard, gene_path
from structune.genes.eukaryotes.structure.weights import MOST_INTRON, Scaling, log_odds
from structune.genes.examples import GeneExamples
from structune.genes.formats.record import AnnotatedSequence
from structune.structure import FloatArray

FOLDS = 10
PRETRAINED = "pretrained"
IN_COMMON = "eukaryotes"  # the model of no organism alone
_KINDS = ("scales", "edges", "exon lengths")  # of weights that are alike among organisms


def encoded(
    graph: ExonGraph,
    examples: GeneExamples,
    tracks: Sequence[FloatArray] | None = None,
    weights: FloatArray | None = None,
) -> ExonShard:
    """Examples as a shard, with their genes as paths."""
    texts = examples.sequences
    paths = [
        gene_path(graph.weights, len(text), [t]) for text, t in zip(texts, examples.transcripts, strict=True)
    ]
    inputs: list[Any] = list(texts if tracks is None else zip(texts, tracks, strict=True))
    return graph.encode(inputs, paths, weights)


# --- tables -----------------------------------------------------------------------------------------------


def drawn_parts(n: int, groups: Any, random_state: int) -> NDArray[np.int8]:
    """For each of `n` examples the table that it is to be scored by, from 1 on.

    Examples of one of the `groups`, if any, are left out together, if there are enough groups for all parts.
    """
    # parts differ by one group at most: a permutation of the groups, dealt out modulo FOLDS
    each = np.arange(n)
    names, group = np.unique(each if groups is None else np.asarray(groups), return_inverse=True)
    group = group if names.size >= FOLDS else each
    parts = 1 + np.random.default_rng(random_state).permutation(int(group.max()) + 1) % FOLDS
    return parts[group].astype(np.int8)


class Tally:
    """What examples of a graph count, by the tables that they are to be scored by."""

    def __init__(self, graph: ExonGraph) -> None:
        self._graph = graph
        self._counts, self._decoys = np.zeros((2, FOLDS + 1, len(graph.weights)))
        self._sizes = np.zeros(FOLDS + 1, np.int64)

    def counted(self, shard: ExonShard, tables: NDArray[np.int8]) -> ExonShard:
        """Examples, once they are counted, each to be scored by a table without its own."""
        for k in np.unique(tables).tolist():
            part = shard.take(tables == k)
            self._graph.features(part, self._counts[k])
            self._decoys[k] += self._graph.decoys(part)
            self._sizes[k] += len(part)
        return replace(shard, tables=tables)

    def scaled_graph(self) -> ExonGraph:
        """The graph with tables of all examples, and without those of each table, if there are others."""
        # Counts of all parts but one are those of all less the part's: examples are counted once. One part
        # alone has no others, and is scored by its own table.
        weights, sizes = self._graph.weights, self._sizes
        every, found = self._counts.sum(axis=0), self._decoys.sum(axis=0)
        tables = [log_odds(weights, every, found)]
        for k in range(1, int(np.max(np.flatnonzero(sizes), initial=0)) + 1):
            others = sizes.sum() > sizes[k]
            left = every - others * self._counts[k], found - others * self._decoys[k]
            tables.append(log_odds(weights, *left))
        return ExonGraph(weights, Scaling(weights, np.array(tables)))


# --- the prior --------------------------------------------------------------------------------------------


def prior_mean(scaling: Scaling, center: Any) -> FloatArray:
    """Of the weights of a scaling, by another finder, or the one that is told by name."""
    found = scaling.origin
    if center is None:
        return found
    center = _common() if isinstance(center, str) else center
    known = dict(zip(center.graph_.weight_names(), np.asarray(center.coef_).tolist(), strict=True))
    # a name that the center does not have, as of a bin of lengths, keeps the mean that it would have without
    for k, name in enumerate(scaling.names()):
        if name.startswith(_KINDS):
            found[k] = known.get(name, found[k])
    return found


@cache
def _common() -> Any:
    """The model of what organisms have in common."""
    return load_shipped("structune.genes.eukaryotes", IN_COMMON)


def check_center(center: Any) -> None:
    """Refuse what is no fitted finder with the features "full" and a log loss, nor one that has a name."""
    if center is None or (isinstance(center, str) and center == PRETRAINED):
        return
    graph = getattr(center, "graph_", None)
    if getattr(graph, "scaling", None) is None or not getattr(center, "has_probabilities", False):
        raise DataError(
            f"center={center!r:.80}: expected {PRETRAINED!r}, a fitted GeneFinder with features='full' and "
            "loss='log', or None"
        )


# --- checks -------------------------------------------------------------------------------------------------


def checked_introns(lengths: list[Any]) -> tuple[int, int]:
    """The lengths of a model file: tables grow with them, and kernels step by them."""
    if [type(n) for n in lengths] != [int, int] or not 0 <= lengths[0] <= lengths[1] <= MOST_INTRON:
        raise ModelFileError(f"introns={lengths!r:.60} must be two increasing numbers up to {MOST_INTRON}")
    return lengths[0], lengths[1]


def checked_tables(arrays: Arrays, graph: ExonGraph) -> FloatArray:
    """Those of a model file, or of a folder of shards: they have a row for each part of the examples."""
    if "tables" not in arrays:
        raise ModelFileError(
            "the model has no tables: it is from an earlier release and must be trained again"
        )
    tables = arrays["tables"]
    if tables.dtype != np.float64 or tables.ndim != 2 or tables.shape[1:] != (len(graph.weights),):
        raise ModelFileError(
            "the tables do not belong to this gene model: a model of an earlier release must be trained again"
        )
    if not 1 <= len(tables) <= 1 + FOLDS or not np.isfinite(tables).all():
        raise ModelFileError("the tables of log odds are too many or not finite: the file is damaged")
    return tables


def checked_tracks(
    tracks: Any, sequences: Sequence[AnnotatedSequence], n_tracks: int | None = None
) -> list[FloatArray] | None:
    """Numbers that come with each base of some sequences; by default as many as with those of the first."""
    if tracks is None:
        return None
    if not isinstance(tracks, Sequence | np.ndarray) or isinstance(tracks, str):
        raise DataError(f"tracks={tracks!r:.60} must be a list of arrays")
    if len(tracks) != len(sequences):
        raise DataError(f"tracks has {len(tracks)} arrays, but X has {len(sequences)} sequences")
    values = list[FloatArray]()
    for track, sequence in zip(tracks, sequences, strict=True):
        values.append(checked_track(track, sequence.name, len(sequence.sequence), n_tracks))
        n_tracks = values[0].shape[1]
    return values
