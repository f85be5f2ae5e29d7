"""``structune rank``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path

from structune.cli.checks import check_apart
from structune.cli.streams import binary_source, open_bytes, write_texts
from structune.ranking.commands.data import open_ranker
from structune.ranking.letor import LetorData
from structune.ranking.ranker import Ranker
from structune.ranking.structure.queries import check_queries, sorted_by_score

_HEADING = "query\trank\tdocument\tscore\tcomment\n"


def run(model_path: Path, file: str, output: str) -> None:
    """Rank the documents of a file, and write them in their order, some queries at a time."""
    check_apart([model_path, file], [None if output == "-" else Path(output)])
    model, reader = open_ranker(model_path)
    ranked = _lines(model, reader.read(binary_source(file)))
    first = next(ranked)  # what is wrong there is told before the output is opened
    with open_bytes(output) as out:
        write_texts(out, chain([_HEADING, first], ranked))


def _lines(model: Ranker, blocks: Iterable[LetorData]) -> Iterator[str]:
    n_before = 0
    for data in blocks:
        scores = model.predict(data.X)
        offsets = check_queries(data.queries)[1]
        order = sorted_by_score(offsets, scores).tolist()
        for start, end in pairwise(offsets.tolist()):
            for rank, j in enumerate(order[start:end], start=1):
                comment = " ".join(data.comments[j].split())
                document = n_before + j + 1
                yield f"{data.queries[j]}\t{rank}\t{document}\t{scores[j]:.6g}\t{comment}\n"
        n_before += len(data)
