"""Rankings on the command line: reads LETOR files, trains, evaluates, and writes rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

from structune.cli.fields import option
from structune.cli.task import Examples, Task
from structune.errors import DataError, ModelFileError
from structune.files.text import plural

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.ranking.letor import LetorData
    from structune.ranking.ranker import Ranker
    from structune.ranking.report import RankingReport
    from structune.ranking.scores import RankingScores

_VALUE = 60  # bytes for a feature of a document, with its share of what a document takes
_HEADING = "query\trank\tdocument\tscore\tcomment\n"


@dataclass(frozen=True)
class Learning:
    """How LETOR files are read."""

    missing: float | None = option(
        None,
        help="Number that replaces NULL, in training files and in all files that the model reads later. By "
        "default, NULL is an error.",
    )


class RankingTask(Task):
    """Documents of queries, from LETOR files."""

    estimator = "structune.ranking.ranker:Ranker"
    learns = "to rank the documents of queries"
    about = (
        "A document's score is a weighted sum of its features. Queries of different files are different "
        "queries, even with the same id. --k 0 counts all positions."
    )
    files = (
        "LETOR files, also compressed: one document per line, such as '2 qid:10 1:0.03 2:0.5 # docid = 7'. "
        "The documents of a query are on adjacent lines. A feature missing from a line is 0."
    )
    inputs = "LETOR files. Their relevances are ignored."
    parts = "documents"
    learning_options = Learning
    space = ("k", "convention")
    tuning = ("cv", "random_state")
    methods = ("grid", "majorize")
    evaluates = (
        "Prints NDCG@1 to NDCG@10, each a mean over the queries of all files, and the mean of these ten. "
        "NDCG follows the convention that the model was trained for. A query without relevant documents "
        "counts as 0."
    )
    predicts = (
        "Rank the documents of queries.",
        "Writes a tab-separated table with the columns query, rank, document (its number in the input, from "
        "1), score, and comment. Queries are in the order of the files, and the documents of a query are "
        "sorted by rank. Files may be of any length. If a line is wrong, the queries before it have already "
        "been written.",
    )
    examples = (
        "structune train ranking train.txt --model ranker.structune --penalty 2 --test test.txt",
        "structune tune ranking train.txt --model ranker.structune --test test.txt",
        "structune shard ranking train.txt shards/",
        "structune evaluate ranking ranker.structune test.txt",
        "structune predict ranker.structune new.txt > ranked.tsv",
        "structune rank ranker.structune new.txt > ranked.tsv",
    )

    def prepare(self, model: Ranker, learning: Learning) -> None:
        model.k = model.k or None

    def read(self, files: Sequence[str], learning: Learning, model: Ranker) -> Examples:
        import numpy as np

        from structune.ranking.letor import read_letor, with_features

        _check_missing(learning)
        found = [read_letor(path, missing=learning.missing) for path in files]
        features = _features_of_all(files, (data.feature_indices for data in found))
        found = [with_features(data, features) for data in found]
        X, y = (np.concatenate([getattr(data, name) for data in found]) for name in ("X", "relevance"))
        queries = [f"{file} {query}" for file, data in enumerate(found) for query in data.queries]
        told = (
            f"{plural(len(set(queries)), 'query', 'queries')}, {plural(len(y), 'document')}, "
            f"{plural(len(features), 'feature')}"
        )
        return Examples((X, y, queries), [("data", told)], header=_header(features, learning.missing))

    def read_shards(self, folder: ShardFolder) -> Examples:
        features, missing = _reading_of(folder.model.extra_, folder.path)
        return Examples((), super().read_shards(folder).told, header=_header(features, missing))

    def shard(
        self, files: Sequence[str], learning: Learning, model: Ranker, writer: ShardWriter, quiet: bool
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        """Read the files twice, block by block: once for the feature numbers, once to encode them."""
        from structune.cli.terminal import Progress
        from structune.ranking.letor import letor_features, read_letor_blocks

        def indices() -> Iterator[Any]:
            with Progress(not quiet, stage="features", unit="documents") as progress:
                for found in chain.from_iterable(map(letor_features, files)):
                    yield found
                    progress.advance(1)

        _check_missing(learning)
        features = _features_of_all(files, indices())

        def blocks() -> Iterator[tuple[Any, ...]]:
            with Progress(not quiet, stage="shards", unit="documents") as progress:
                for number, path in enumerate(files):
                    for data in read_letor_blocks(path, features, learning.missing):
                        yield data.X, data.relevance, [f"{number} {query}" for query in data.queries]
                        progress.advance(len(data))

        written = model.write_blocks(blocks, writer, _header(features, learning.missing))
        return written, [
            (
                "data",
                f"{plural(len(written), 'query', 'queries')}, {plural(sum(written.n_parts), 'document')}",
            )
        ]

    def open(self, path: str, options: Any) -> Ranker:
        model: Ranker = super().open(path, options)
        if len(_reading_of(model.extra_, path)[0]) != model.n_features_in_:
            raise _no_features(path)
        return model

    def read_known(
        self, files: Sequence[Any], reading: Any, model: Ranker, header: Any
    ) -> Iterable[LetorData]:
        from structune.ranking.letor import read_letor_blocks
        from structune.running.memory import batch_memory

        features, missing = _reading_of(header, "the model")
        for source in files:
            yield from read_letor_blocks(source, features, missing, batch_memory() // _VALUE)

    def score(self, model: Ranker, known: Iterable[LetorData], scoring: Any) -> RankingScores:
        from structune.ranking.scores import RankingScores

        return RankingScores.of_blocks(model, known)

    def predict(self, model: Ranker, files: Sequence[str], predicting: Any) -> Iterator[str]:
        return self._texts(model, files)

    def predict_and_report(
        self, model: Ranker, files: Sequence[str], predicting: Any
    ) -> tuple[Iterator[str], RankingReport]:
        from structune.ranking.report import RankingReport

        report = RankingReport()
        return self._texts(model, files, report), report

    def _texts(
        self, model: Ranker, files: Sequence[str], report: RankingReport | None = None
    ) -> Iterator[str]:
        """The table of ranked documents, which are added to the report."""
        from structune.cli.files import binary_source
        from structune.ranking.structure.queries import check_queries, sorted_by_score

        n_before, heading = 0, _HEADING
        for data in self.read_known([binary_source(file) for file in files], None, model, model.extra_):
            scores = model.predict(data.X)
            offsets = check_queries(data.queries)[1]
            order = sorted_by_score(offsets, scores).tolist()
            yield heading + "".join(
                f"{data.queries[j]}\t{rank}\t{n_before + j + 1}\t{scores[j]:.6g}\t"
                f"{' '.join(data.comments[j].split())}\n"
                for start, end in pairwise(offsets.tolist())
                for rank, j in enumerate(order[start:end], start=1)
            )
            if report is not None:
                report.add(data, scores, offsets.tolist(), order)
            n_before, heading = n_before + len(data), ""

    def warm(self) -> None:
        import numpy as np

        from structune.ranking.ranker import Ranker

        X = np.random.default_rng(0).normal(size=(12, 2))
        y = np.tile([0.0, 1.0, 2.0], 4)
        for loss in ("ramp", "margin"):
            Ranker(loss=loss, tuning=None, n_jobs=1).fit(X, y, np.repeat(range(4), 3))


TASK = RankingTask()


def _check_missing(learning: Learning) -> None:
    if learning.missing is not None and not isfinite(learning.missing):
        raise DataError(f"--missing {learning.missing}: expected a finite number")


def _features_of_all(files: Sequence[str], indices: Iterable[Any]) -> tuple[int, ...]:
    """The numbers of the features that any of some files or blocks has."""
    features = set(chain.from_iterable(some.tolist() for some in indices))
    if not features:
        raise DataError(f"{', '.join(files)}: no line has a feature, such as '1:0.5'")
    return tuple(sorted(features))


def _header(features: Sequence[int], missing: float | None) -> dict[str, Any]:
    """What the model file stores, so that new files are read in the same way."""
    return {"features": list(features), "missing": missing}


def _reading_of(header: Any, path: Any) -> tuple[tuple[int, ...], float | None]:
    """The numbers of the features of a model's files, and the value of NULL."""
    features, missing = header.get("features"), header.get("missing")
    is_read = isinstance(features, list) and all(type(number) is int for number in features)
    if not is_read or not isinstance(missing, float | None):
        raise _no_features(path)
    return tuple(features), missing


def _no_features(path: Any) -> ModelFileError:
    return ModelFileError(
        f"{path}: the numbers of the features are missing. Use a model or folder that structune train, tune "
        "or shard wrote"
    )
