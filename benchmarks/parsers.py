"""SequenceTagger as it comes beside CRFsuite, on what parsers of strings learn from.

    pip install usaddress                   # whose features are used
    python benchmarks/parsers.py            # goes on where it ended
    python benchmarks/parsers.py --quick    # 200 strings of each corpus, a small grid, written nowhere

Corpora: addresses of the USA (features of usaddress), bibliographic references (features like those of
AnyStyle, without its dictionaries), names in noisy text (WNUT 2017; features like those of the tutorial of
sklearn-crfsuite), and the first 2,000 sentences of CoNLL-2000 (features of CRFsuite's example). Each also
with the templates that the command line uses by default. Of strings that differ only in case and spaces, one
is used. Addresses and references are tested in three folds, so that each string is tested once; the others
have a test set.

CRFsuite: with its default settings, with those of the package whose parser it is, and with the best of a grid
of c1 and c2, chosen in 4-fold cross-validation on the training part (200 iterations at most) by the share of
whole strings right, or by the F1 of segments where there are BIO labels, and then fitted to all of it.
structune: SequenceTagger(); where there are BIO labels, also with class_weight={"O": 0.5}, a weight that was
chosen by cross-validation on the training part of the names. Seconds are those of a processor.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

import conll2000
from common import (
    asked_to_be_quick,
    crfsuite_labels,
    crfsuite_trainer,
    folder_for,
    log,
    mean_difference,
    pack,
    unpack,
    write,
)
from structune import SequenceTagger
from structune.files.data_sets import find
from structune.learning import paired_difference
from structune.tagging import extract, read_conll, text_templates
from structune.tagging.metrics import segment_counts

GRID_1, GRID_2, FOLDS, QUICK = (0.0, 0.1, 1.0), (0.01, 0.1, 1.0), 4, 200
WEIGHTED = "structune, O counts half"
FIRST = ["structune", WEIGHTED, "crfsuite, default", "crfsuite, package"]
Strings = list[list[str]]


@dataclass
class Corpus:
    """Strings, their labels, and the parts (training, test) that are compared."""

    words: Strings
    labels: Strings
    features: Callable[[list[str]], list[Any]]  # of the parser
    settings: dict[str, float]  # what the parser's package trains with
    parts: list[tuple[Any, Any]]
    columns: dict[str, Strings]  # beside the words

    @property
    def has_segments(self) -> bool:
        return any(label.startswith("B-") for labels in self.labels for label in labels)


# --- corpora ------------------------------------------------------------------------------------------------


def from_xml(file: str) -> tuple[Strings, Strings]:
    """Distinct strings of tagged fields: words, and the tag of each."""
    with gzip.open(find(file)) as text:
        root = ET.fromstring(text.read())
    found: dict[str, tuple[list[str], list[str]]] = {}
    for string in root:
        pairs = [(word, field.tag) for field in string for word in (field.text or "").split()]
        if pairs:
            words, labels = map(list, zip(*pairs, strict=True))
            found.setdefault(" ".join(words).lower(), (words, labels))
    return [words for words, _ in found.values()], [labels for _, labels in found.values()]


def in_folds(words: Strings, labels: Strings, features: Any, settings: Any, limit: int | None) -> Corpus:
    from sklearn.model_selection import KFold

    order = np.random.default_rng(0).permutation(len(words))[:limit]
    words, labels = [words[i] for i in order], [labels[i] for i in order]
    parts = list(KFold(3).split(np.empty(len(words))))
    return Corpus(words, labels, features, settings, parts, {})


def addresses(limit: int | None) -> Corpus:
    import usaddress

    words, labels = from_xml("sequence/us_addresses.xml.gz")
    settings = {"c1": 0.1, "c2": 0.01}  # of parserator
    return in_folds(words, labels, usaddress.tokens2features, settings, limit)


def references(limit: int | None) -> Corpus:
    words, labels = from_xml("sequence/references.xml.gz")
    settings = {"c1": 0.5, "c2": 0.00005}  # of Wapiti: rho1 and half of rho2
    return in_folds(words, labels, reference_features, settings, limit)


def names(limit: int | None) -> Corpus:
    files = [read_conll(find(f"sequence/wnut17_{part}.conll.gz"), ("w", "y")) for part in ("train", "test")]
    words, labels = ([data.sentences(name)[:limit] for data in files] for name in ("w", "y"))
    n = len(words[0])
    parts = [(np.arange(n), np.arange(n, n + len(words[1])))]
    settings = {"c1": 0.1, "c2": 0.1}  # of the tutorial
    return Corpus(joined(words), joined(labels), word_features, settings, parts, {})


def chunks(limit: int | None) -> Corpus:
    files = [conll2000.load("train", limit or 2000), conll2000.load("test", limit)]
    words, tags, labels = (joined(data.sentences(name) for data in files) for name in ("w", "pos", "y"))
    tagged = dict(zip(map(id, words), tags, strict=True))
    n = len(files[0])
    parts = [(np.arange(n), np.arange(n, len(words)))]

    def features(sentence: list[str]) -> list[Any]:
        return conll2000.string_features(sentence, tagged[id(sentence)])

    return Corpus(words, labels, features, {"c2": 1.0}, parts, {"pos": tags})


CORPORA = {"addresses": addresses, "names": names, "chunks": chunks, "references": references}


def word_features(words: list[str]) -> list[dict[str, Any]]:
    """Spelling of a word and of its neighbors."""

    def own(word: str) -> dict[str, Any]:
        return {
            "lower": word.lower(),
            "isupper": word.isupper(),
            "istitle": word.istitle(),
        }

    rows = []
    for t, word in enumerate(words):
        row: dict[str, Any] = {
            "bias": 1.0,
            "suffix3": word[-3:],
            "suffix2": word[-2:],
            "isdigit": word.isdigit(),
        }
        row |= own(word)
        for name, k in (("-1", t - 1), ("+1", t + 1)):
            if 0 <= k < len(words):
                row |= {f"{name}:{key}": value for key, value in own(words[k]).items()}
        row |= {"BOS": t == 0, "EOS": t == len(words) - 1}
        rows.append(row)
    return rows


def reference_features(words: list[str]) -> list[dict[str, Any]]:
    """Spelling, numbers, punctuation and relative position of a word; some of its neighbors, too."""
    rows = []
    for t, word in enumerate(words):
        letters = "".join(c for c in word if c.isalpha())
        digits = "".join("d" if c.isdigit() else c for c in word)
        rows.append({
            "word": word,
            "letters": letters.lower(),
            "first": unicodedata.category(word[0]),
            "last": unicodedata.category(word[-1]),
            "prefix2": word[:2],
            "prefix3": word[:3],
            "suffix2": word[-2:],
            "suffix3": word[-3:],
            "case": "X" if len(letters) == 1 and letters.isupper() else "upper" if letters.isupper()
            else "title" if letters.istitle() else "lower" if letters.islower() else "other",
            "number": digits if any(c.isdigit() for c in word) and len(word) < 12 else "none",
            "end": word[-1] if not word[-1].isalnum() else "none",
            "place": "first" if t == 0 else "last" if t == len(words) - 1 else str(10 * t // len(words)),
        })  # fmt: skip
    near = ("letters", "case", "number", "end")
    plain = [dict(row) for row in rows]
    for t, row in enumerate(rows):
        for name, k in (("-2", t - 2), ("-1", t - 1), ("+1", t + 1), ("+2", t + 2)):
            if 0 <= k < len(rows):
                chosen = near if abs(k - t) == 1 else near[:1]
                row |= {f"{name}:{key}": plain[k][key] for key in chosen}
    return rows


def default_features(corpus: Corpus) -> list[Any]:
    """Attributes by the default templates of the command line."""
    columns = {"w": corpus.words, **corpus.columns}
    flat = {name: [value for sentence in column for value in sentence] for name, column in columns.items()}
    table = extract(text_templates("w", list(corpus.columns)), flat, [len(words) for words in corpus.words])
    return conll2000.strings_of(table)


# --- models -------------------------------------------------------------------------------------------------


def with_crfsuite(x: Any, y: Any, x_test: Any, settings: dict[str, float]) -> dict[str, Any]:
    trainer = crfsuite_trainer(x, y, **settings)
    with tempfile.TemporaryDirectory() as folder:
        path, start = str(Path(folder) / "model"), time.process_time()
        trainer.train(path)
        seconds = time.process_time() - start
        return {
            "labels": crfsuite_labels(path, x_test),
            "seconds": seconds,
            "bytes": Path(path).stat().st_size,
            "settings": settings,
        }


def by_grid(x: Any, y: Any, x_test: Any, share: Callable[..., float], quick: bool) -> dict[str, Any]:
    """CRFsuite with the c1 and c2 that are best in cross-validation."""
    from sklearn.model_selection import KFold

    grid = product(GRID_1[:2], GRID_2[1:]) if quick else product(GRID_1, GRID_2)
    rows, start = [], time.process_time()
    splits = list(KFold(FOLDS, shuffle=True, random_state=0).split(np.empty(len(x))))
    for c1, c2 in grid:
        predicted: list[Any] = [None] * len(x)
        for fit, held in splits:
            found = with_crfsuite(
                take(x, fit), take(y, fit), take(x, held), {"c1": c1, "c2": c2, "max_iterations": 200}
            )
            for i, labels in zip(held, found["labels"], strict=True):
                predicted[i] = labels
        rows.append({"c1": c1, "c2": c2, "share": share(y, predicted)})
        log(f"grid {rows[-1]}")
    best = max(rows, key=lambda row: row["share"])
    found = with_crfsuite(x, y, x_test, {"c1": best["c1"], "c2": best["c2"]})
    return {**found, "seconds": time.process_time() - start, "grid": rows}


def with_structune(x: Any, y: Any, x_test: Any, **settings: Any) -> dict[str, Any]:
    start = time.process_time()
    model = SequenceTagger(**settings).fit(x, y)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        size = path.stat().st_size
    return {"labels": model.predict(x_test), "seconds": seconds, "bytes": size, "groups": model.penalty_.size}


def joined(lists: Iterable[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(lists))


def take(values: Any, which: Any) -> list[Any]:
    return [values[i] for i in which]


def whole(y: Any, predicted: Any) -> float:
    """Share of strings whose labels are all right."""
    return float(np.mean([a == b for a, b in zip(y, predicted, strict=True)]))


def f1(counts: Any) -> Any:
    """F1 of segments, from counts of right, true and predicted ones."""
    return 2 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1)


def segment_f1(y: Any, predicted: Any) -> float:
    return float(f1(np.asarray(segment_counts(y, predicted)).sum(axis=0)))


# --- comparison ---------------------------------------------------------------------------------------------


def runs(
    name: str, names: Sequence[str], quick: bool, done: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each of the named models on each part, which is not done yet."""
    corpus = CORPORA[name](QUICK if quick else None)
    share = segment_f1 if corpus.has_segments else whole
    for features in ("own", "default"):
        x = list(map(corpus.features, corpus.words)) if features == "own" else default_features(corpus)
        models: dict[str, Callable[..., dict[str, Any]]] = {
            "structune": with_structune,
            WEIGHTED: partial(with_structune, class_weight={"O": 0.5}),
            "crfsuite, default": partial(with_crfsuite, settings={}),
            "crfsuite, package": partial(with_crfsuite, settings=corpus.settings),
            "crfsuite, grid": partial(by_grid, share=share, quick=quick),
        }
        for model in (name for name in names if name != WEIGHTED or corpus.has_segments):
            for part, (fit, test) in enumerate(corpus.parts):
                key = f"{name} | {features} | {model} | {part}"
                if key in done:
                    continue
                found = models[model](take(x, fit), take(corpus.labels, fit), take(x, test))
                labels, truth = found.pop("labels"), take(corpus.labels, test)
                right = np.array([a == b for a, b in zip(truth, labels, strict=True)], int)[:, None]
                counts = np.asarray(segment_counts(truth, labels)) if corpus.has_segments else right[:, :0]
                found |= {
                    "strings": len(test),
                    "counts": pack(np.hstack([right, counts]).astype("<u2")),
                    "tokens": float(np.mean(np.array(joined(truth)) == np.array(joined(labels)))),
                }
                log(f"{key}: whole {right.mean():.4f}, {found['seconds']:.1f} s")
                yield key, found


def summary(done: dict[str, Any]) -> dict[str, Any]:
    """A row a corpus, features and model; and structune's difference to each other, with its interval."""
    rows: dict[str, Any] = {}
    parts_of: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for key, found in done.items():
        *names, _ = key.split(" | ")
        parts_of.setdefault(tuple(names), []).append(found)
    for (corpus, features, model), parts in parts_of.items():
        own = parts_of[corpus, features, "structune"]
        if len(own) != len(parts):
            continue  # not done yet
        counts, others = (
            np.vstack([unpack(part["counts"], "<u2", part["strings"]) for part in of]).astype(float)
            for of in (parts, own)
        )
        row = {
            "strings": len(counts),
            "whole": float(counts[:, 0].mean()),
            **{
                name: float(np.mean([part[name] for part in parts]))
                for name in ("tokens", "seconds", "bytes")
            },
            "settings": [part.get("settings") for part in parts],
            "structune_minus": mean_difference(counts[:, 0], others[:, 0]),
        }
        if counts.shape[1] > 1:
            row["f1"] = float(f1(counts[:, 1:].sum(axis=0)))
            row["structune_minus_f1"] = vars(paired_difference(counts[:, 1:], others[:, 1:], f1))
        rows.setdefault(f"{corpus}, {features}", {})[model] = row
    return rows


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    kept = folder_for("parsers", quick) / "parsers.json"
    done: dict[str, Any] = json.loads(kept.read_text())["runs"] if kept.exists() else {}
    # The grid takes hours: what is quick comes first.
    for name, names in [(name, names) for names in (FIRST, ["crfsuite, grid"]) for name in CORPORA]:
        for key, found in runs(name, names, quick, done):
            done[key] = found
            write(str(kept.with_suffix("")), {"rows": summary(done), "runs": done}, "python-crfsuite")
    for name, models in summary(done).items():
        for model, row in models.items():
            minus = row["structune_minus"]
            print(
                f"{name:20} {model:18} whole {row['whole']:.4f} tokens {row['tokens']:.4f} "
                f"F1 {row.get('f1', np.nan):.4f} {row['seconds']:7.1f} s {row['bytes'] / 1000:6.0f} kB; "
                f"structune {minus['text']}"
            )


if __name__ == "__main__":
    main()
