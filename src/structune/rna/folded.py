"""What was found out about a folded sequence, and its text in each format of output."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.files.provenance import json_keys
from structune.rna.formats.any import write_rna
from structune.rna.formats.brackets import bases_of
from structune.rna.formats.sequences import RNARecord
from structune.rna.metrics import expected_accuracy, partner_entropy, unpaired

if TYPE_CHECKING:
    from structune.rna.inputs import Structures
    from structune.structure import FloatArray


@dataclass(frozen=True)
class Folded:
    """What was found out about a sequence; None is what was not asked for."""

    record: RNARecord
    structures: Structures | list[str]  # each is made when it is asked for: there may be millions
    kind: str = ""  # "rank" or "sample" where there may be several
    probabilities: FloatArray | None = None
    pairs: Any = None  # their probabilities, symmetric, shape (n_bases, n_bases), perhaps sparse
    windows: FloatArray | None = None  # probabilities to be unpaired, by the first base
    log_partition: float | None = None
    dimer: float | None = None  # how probably a pair joins two strands
    scores: list[float] | None = None  # of --format vienna; not finite for a structure without one
    unscored: str = ""  # why the first of these has none

    def choices(self) -> Iterator[tuple[str, int, float | None, list[str]]]:
        """Each structure, its number from 1, its probability, and what a header tells of it."""
        for k, structure in enumerate(self.structures):
            p = None if self.probabilities is None else float(self.probabilities[k])
            words = [self.kind, str(k + 1)] if self.kind else []
            yield structure, k + 1, p, words if p is None else [*words, "probability", f"{p:.6g}"]


def _json(folded: Folded, min_probability: float, model: str) -> Iterator[str]:
    """An object a line; lists are written as they come."""
    pairs = folded.pairs
    entries: dict[str, Any] = {"name": folded.record.name, "sequence": folded.record.sequence}
    if folded.kind:
        entries["structures"] = (
            {"structure": structure, folded.kind: k} | ({} if p is None else {"probability": p})
            for structure, k, p, _ in folded.choices()
        )
    else:
        entries["structure"] = folded.structures[0]
        if pairs is not None:
            ppv, sensitivity, _ = expected_accuracy(folded.structures[0], pairs)
            entries |= {"expected_ppv": ppv, "expected_sensitivity": sensitivity}
    shown = ([i, j, round(p, 6)] for i, j, p in _pairs(folded, min_probability))
    entries |= {"pairs": None if pairs is None else shown, "log_partition": folded.log_partition}
    if folded.dimer is not None:
        entries["dimer_probability"] = folded.dimer
    entries |= json_keys(model)
    for k, (key, value) in enumerate(entries.items()):
        yield f"{', ' if k else '{'}{json.dumps(key)}: "
        if isinstance(value, Iterator):
            yield "["
            yield from (f"{', ' if number else ''}{json.dumps(item)}" for number, item in enumerate(value))
            yield "]"
        else:
            yield json.dumps(value)
    yield "}\n"


def _pairs(folded: Folded, min_probability: float) -> Iterator[tuple[int, int, float]]:
    """Pairs, from 1, and their probabilities."""
    table = folded.pairs
    if isinstance(table, np.ndarray):
        rows: Iterable[tuple[Any, Any]] = ((np.arange(len(table)), row) for row in table)
    else:
        table.sort_indices()
        rows = ((table.indices[a:b], table.data[a:b]) for a, b in pairwise(table.indptr.tolist()))
    for i, (columns, values) in enumerate(rows, 1):
        shown = (columns >= i) & (values >= min_probability) & (values > 0.0)
        for j, p in zip((columns[shown] + 1).tolist(), values[shown].tolist(), strict=True):
            yield i, j, p


def with_score(structure: str, score: float) -> str:
    """A structure and its score, as RNAfold writes them."""
    return f"{structure} ({score:z.2f})" if math.isfinite(score) else structure


def texts_of(folded: Folded, format: str, min_probability: float, model: str) -> Iterator[str]:
    """What is written of a sequence, some at a time."""
    record, pairs = folded.record, folded.pairs
    match format:
        case "json":
            yield from _json(folded, min_probability, model)
        case "pairs":
            for i, j, p in _pairs(folded, min_probability):
                yield f"{record.name}\t{i}\t{j}\t{p:.6g}\n"
        case "bases":
            columns = [unpaired(pairs), partner_entropy(pairs)]
            if folded.windows is not None:
                beyond = len(record.sequence) - folded.windows.size
                columns.append(np.append(folded.windows, np.full(beyond, np.nan)))
            texts = ([f"{x:.6g}" for x in column] for column in columns)
            for k, row in enumerate(zip(bases_of(record.sequence), *texts, strict=True), 1):
                yield "\t".join([record.name, str(k), *row]) + "\n"
        case "vienna":
            yield f">{record.header}\n{record.sequence}"
            scores = folded.scores or []
            if folded.kind:  # as RNAsubopt
                known = [score for score in scores if math.isfinite(score)]
                yield f" {100 * min(known):z.0f} {100 * (max(known) - min(known)):z.0f}" if known else ""
                yield "\n"
                for structure, score in zip(folded.structures, scores, strict=True):
                    yield f"{structure} {score:z.2f}\n" if math.isfinite(score) else f"{structure}\n"
            else:
                yield f"\n{with_score(folded.structures[0], scores[0])}\n"
        case "dbn":
            dimer = [] if folded.dimer is None else ["dimer", f"{folded.dimer:.6g}"]
            for structure, *_, words in folded.choices():
                header = " ".join([record.name, *words, *dimer, record.description]).rstrip()
                yield f">{header}\n{record.sequence}\n{structure}\n"
        case _:
            for structure, *_, words in folded.choices():
                name, text = "_".join([record.name, *words]), io.StringIO()
                write_rna(text, [RNARecord(name, record.sequence, structure)], format)
                yield text.getvalue()
