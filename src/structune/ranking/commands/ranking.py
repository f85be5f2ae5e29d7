"""``structune rank``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from structune.cli.streams import binary_source
from structune.files.text import save
from structune.ranking.commands.data import open_ranker
from structune.ranking.letor import LetorData
from structune.ranking.ranker import Ranker
from structune.ranking.structure.queries import check_queries, sorted_by_score

_HEADING = "query\trank\tdocument\tscore\tcomment\n"


def run(model_path: Path, file: str, output: str) -> None:
    """Rank the documents of a file, and write them in their order."""
    model, reader = open_ranker(model_path)
    data = reader.read(binary_source(file))
    target: Any = sys.stdout.buffer if output == "-" else Path(output)
    save(target, "".join([_HEADING, *_lines(model, data)]))


def _lines(model: Ranker, data: LetorData) -> Iterator[str]:
    scores = model.predict(data.X)
    offsets = check_queries(data.queries)[1]
    order = sorted_by_score(offsets, scores).tolist()
    for start, end in pairwise(offsets.tolist()):
        for rank, j in enumerate(order[start:end], start=1):
            comment = " ".join(data.comments[j].split())
            yield f"{data.queries[j]}\t{rank}\t{j + 1}\t{scores[j]:.6g}\t{comment}\n"
