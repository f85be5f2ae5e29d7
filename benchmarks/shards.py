"""More data than memory, encoded block by block and learned from, held to a limit by the kernel.

    python benchmarks/shards.py                          some thirty minutes, 2 GB of disk
    python benchmarks/shards.py --quick                  a 500th of that, to a temporary folder
    python benchmarks/shards.py --gigabytes 20 --limit 2 classifier ranking

Text of each kind is simulated, and repeated until it has the size. ``structune shard`` encodes it, and an
estimator takes some passes over the shards; both are processes of their own in a control group (version 1),
which counts files in the cache of the kernel, too. Where none can be made, as without root, memory is only
measured. Peaks are of resident memory, pages of shards that are mapped included. Weights from shards are
compared with those from memory on a small text. Passes over structures and alignments are long: these fits
are over a part of the text. Results of kinds that were not asked for stay as they are.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from common import folder_for, memory_group, parser_of, peak_bytes, staged, succeed, write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # what is simulated there

import simulated_genes
import simulated_orfs
from gene_files import genbank
from structune.running import Run

NAME = "shards"
UNIT = 4_000_000  # bytes of text that are simulated
PASSES, TOLERANCE = 3, 1e-12


# --- texts, each of about so many bytes; @ is the number of the copy ---------------------------------------


def table(rng: Any, n: int, label: Callable[[Any], Any], head: str = "") -> str:
    """Rows of 40 features, of which each has a share of zeros."""
    X = rng.normal(size=(n // 350, 40)).round(5)
    X[rng.random(X.shape) < 0.2] = 0.0
    scores = X @ np.linspace(-1.0, 1.0, 40) + rng.normal(size=len(X))
    rows = (" ".join(f"{j}:{v}" for j, v in enumerate(row, 1) if v) for row in X.tolist())
    labels = label(scores)
    return "".join(
        f"{y}{head.format(k // 50)} {row}\n" for k, (y, row) in enumerate(zip(labels, rows, strict=True))
    )


def classes(rng: Any, n: int) -> str:
    return table(rng, n, lambda scores: np.digitize(scores, [-1.0, 1.0]))


def numbers(rng: Any, n: int) -> str:
    return table(rng, n, lambda scores: scores.round(3))


def documents(rng: Any, n: int) -> str:
    return table(rng, n, lambda scores: np.digitize(scores, [0.0, 4.0]), " qid:@-{}")


def words(rng: Any, n: int) -> str:
    """Sentences of ten words, whose labels follow one another."""
    count = n // 90 * 10
    labels = (np.cumsum(rng.random(count) < 0.3) + rng.integers(2, size=count)) % 5
    ranks = rng.zipf(1.5, count) % 1000 + 7 * labels
    lines = (f"w{w} L{y}\n" for w, y in zip(ranks.tolist(), labels.tolist(), strict=True))
    return "".join(line if k % 10 else f"\n{line}" for k, line in enumerate(lines)) + "\n"


def hairpins(rng: Any, n: int) -> str:
    found = []
    for k in range(n // 80):
        arm, loop = (rng.choice(list("ACGU"), size) for size in (rng.integers(6, 14), rng.integers(4, 8)))
        other = "".join(dict(zip("ACGU", "UGCA", strict=True))[base] for base in arm[::-1])
        dots = "(" * arm.size + "." * loop.size + ")" * arm.size
        found.append(f">@-{k}\n{''.join(arm)}{''.join(loop)}{other}\n{dots}\n")
    return "".join(found)


def families(rng: Any, n: int) -> str:
    """Stockholm alignments of four proteins."""
    letters, found = list("ACDEFGHIKLMNPQRSTVWY"), []
    for _ in range(n // 280):
        first = rng.choice(letters, (4, 50))
        first[1:] = np.where(rng.random((3, 50)) < 0.6, first[0], first[1:])
        first[rng.random(first.shape) < 0.1] = "-"
        rows = "".join(f"s{k} {''.join(row)}\n" for k, row in enumerate(first))
        found.append(f"# STOCKHOLM 1.0\n{rows}//\n")
    return "".join(found)


def contigs(annotated: Callable[..., Any], rng: Any, n: int) -> str:
    """GenBank files of sequences with some genes each."""
    found, size = [], 0
    while size < n:
        found.append(genbank(annotated(rng, f"@-{len(found)}")))
        size += len(found[-1])
    return "".join(found)


# --- kinds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A kind; `read` gives what `fit` takes of a file."""

    ending: str
    text: Callable[[Any, int], str]
    estimator: Callable[..., Any]
    read: Callable[[Path], tuple[Any, ...]]
    gigabytes: float
    fitted: float = 1.0  # share of the text that is learned from
    limit: float = 0.4  # gigabytes, too
    small: int = 40_000  # bytes of text, for weights in memory
    options: tuple[str, ...] = ()  # of structune shard


def _classifier(**options: Any) -> Any:
    from structune import Classifier

    return Classifier(tuning=None, **options)


def _regressor(**options: Any) -> Any:
    from structune import Regressor

    return Regressor(tuning=None, **options)


def _ranker(**options: Any) -> Any:
    from structune import Ranker

    return Ranker(tuning=None, loss="margin", **options)


def _tagger(**options: Any) -> Any:
    from structune import SequenceTagger

    return SequenceTagger(tuning=None, **options)


def _folder(**options: Any) -> Any:
    from structune import RNAFolder

    return RNAFolder(tuning=None, **options)


def _aligner(**options: Any) -> Any:
    from structune import SequenceAligner

    return SequenceAligner(tuning=None, **options)


def _gene_finder(**options: Any) -> Any:
    from structune import GeneFinder

    return GeneFinder(tuning=None, flank=30, **options)


def _prokaryotic_finder(**options: Any) -> Any:
    from structune import ProkaryoticGeneFinder

    return ProkaryoticGeneFinder(tuning=None, **options)


def _genomes(path: Path) -> tuple[Any, ...]:
    from structune.genes import read_genomes

    return (list(read_genomes(path)),)


def _rows(path: Path) -> tuple[Any, ...]:
    from sklearn.datasets import load_svmlight_file

    found: tuple[Any, ...] = load_svmlight_file(str(path))
    return found


def _documents(path: Path) -> tuple[Any, ...]:
    from structune.ranking import read_letor

    data = read_letor(path)
    return data.X, data.relevance, data.queries


def _sentences(path: Path) -> tuple[Any, ...]:
    from structune.tagging.conll import read_training
    from structune.tagging.task import Learning

    reader, (data,), _ = read_training([path], Learning(templates=TEMPLATES))
    return reader.attributes(data), reader.labels(data)


def _structures(path: Path) -> tuple[Any, ...]:
    from structune.rna import read_rna

    records = list(read_rna(path))
    return [each.sequence for each in records], [each.structure for each in records]


def _pairs(path: Path) -> tuple[Any, ...]:
    from structune.alignment.examples import read_pairs

    pairs, rows, *_ = map(list, zip(*read_pairs([path], "protein"), strict=True))
    return pairs, rows


TEMPLATES = "w[-1..1] w[0].suffix2"
CASES = {
    "tagging": Case(
        "txt", words, _tagger, _sentences, 0.06, limit=0.8, small=5_000, options=("--templates", TEMPLATES)
    ),
    "classifier": Case("svm", classes, _classifier, _rows, 0.6),
    "regressor": Case("svm", numbers, _regressor, _rows, 0.3),
    "ranking": Case("txt", documents, _ranker, _documents, 0.2),
    "rna": Case("dbn", hairpins, _folder, _structures, 0.03, 0.01, small=3_000),
    "alignment": Case("sto", families, _aligner, _pairs, 0.03, 0.01, small=3_000),
    "genes": Case(
        "gb",
        partial(contigs, simulated_genes.annotated),
        _gene_finder,
        _genomes,
        0.02,
        0.01,
        limit=2.0,
        small=10_000,
        options=("--flank", "30"),
    ),
    "prokaryotic-genes": Case(
        "gb", partial(contigs, simulated_orfs.annotated), _prokaryotic_finder, _genomes, 0.03, 0.01
    ),
}


# --- stages -----------------------------------------------------------------------------------------------


def stage_shard(word: str, path: Path, folder: Path) -> dict[str, Any]:
    from structune import open_shards

    succeed("shard", word, path, folder, "--quiet", *CASES[word].options)
    data = open_shards(folder)
    return {
        "examples": len(data),
        "parts": sum(data.n_parts),
        "shards": len(data.fold),
        "bytes": data.n_bytes,
    }


def stage_fit(word: str, path: Path, folder: Path) -> dict[str, Any]:
    from structune.running import Run

    start = time.perf_counter()
    model = CASES[word].estimator(n_jobs=2, run=Run(max_iterations=PASSES)).fit_shards(folder)
    return {"weights": model.coef_.size, "passes": model.passes_, "fit seconds": time.perf_counter() - start}


STAGES = {"shard": stage_shard, "fit": stage_fit}


def write_text(case: Case, path: Path, n_bytes: int) -> None:
    """Copies of one text, the numbers of which are their own."""
    unit, k = case.text(np.random.default_rng(0), min(UNIT, n_bytes)), 0
    with path.open("w") as file:
        while file.tell() < n_bytes:
            file.write(unit.replace("@", str(k)))
            k += 1


def difference(word: str, folder: Path) -> float:
    """The largest of weights from shards, from those in memory, on a small text."""
    case, path = CASES[word], folder / f"small.{CASES[word].ending}"
    write_text(case, path, case.small)
    stage_shard(word, path, folder / "small")
    options = {"n_jobs": 1, "run": Run(tolerance=TOLERANCE)}
    found = case.estimator(**options).fit_shards(folder / "small")
    return float(np.abs(found.coef_ - case.estimator(**options).fit(*case.read(path)).coef_).max())


def in_stage(stage: str, word: str, path: Path, group: Path | None) -> dict[str, Any]:
    folder = path.with_suffix(".shards")
    return staged([__file__, "--stage", stage, word, str(path), str(folder)], group)


def measured(word: str, n_bytes: int, limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        case, weights = CASES[word], difference(word, folder)
        text, fitted = (folder / f"{share}.{case.ending}" for share in (1.0, case.fitted))
        write_text(case, text, n_bytes)
        with memory_group(int(limit * 1e9)) as group:
            found = {"shard": in_stage("shard", word, text, group)}
            if fitted != text:
                write_text(case, fitted, int(case.fitted * n_bytes))
                in_stage("shard", word, fitted, group)
            found["fit"] = {"text bytes": fitted.stat().st_size, **in_stage("fit", word, fitted, group)}
        return {
            "text bytes": text.stat().st_size,
            "limit in gigabytes, kept by the kernel": limit if group else None,
            **found,
            "largest difference of weights from those in memory": weights,
        }


def main() -> None:
    warnings.simplefilter("ignore")  # fits that are to end early
    if "--stage" in sys.argv:
        stage, word, path, folder = sys.argv[sys.argv.index("--stage") + 1 :]
        told = STAGES[stage](word, Path(path), Path(folder))
        print(json.dumps({**told, "peak bytes": peak_bytes()}))
        return
    parser = parser_of(__doc__)
    parser.add_argument("--gigabytes", type=float, help="of each kind")
    parser.add_argument("--limit", type=float, help="in gigabytes")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(CASES))
    given = parser.parse_args()
    target = folder_for(NAME, given.quick)
    file = target / f"{NAME}.json"
    result = json.loads(file.read_text()) if file.exists() else {}
    for word in given.kinds or CASES:
        size = 0.002 * CASES[word].gigabytes if given.quick else given.gigabytes or CASES[word].gigabytes
        result[word] = measured(word, int(size * 1e9), given.limit or CASES[word].limit)
        print(word, json.dumps(result[word], indent=1), flush=True)
        print("written to", write(str(target / NAME), {k: v for k, v in result.items() if k != "machine"}))


if __name__ == "__main__":
    main()
