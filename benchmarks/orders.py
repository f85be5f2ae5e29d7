"""Chains of the first and of the second order: letters of handwritten words, and CoNLL-2000 chunks.

    python benchmarks/orders.py letters  # one fold trains, the nine others test, ten times
    python benchmarks/orders.py chunks   # the templates of conll2000.py
    python benchmarks/orders.py --quick  # both, on little data, written nowhere

Words and images are those of Taskar, Guestrin and Koller (NIPS 2003). Precisions of letters (of pixels, of
neighbours, of trigrams) are learned from the first fold, and serve for all. Every fold has all 55 words, so
trigrams learn them by heart: "unseen words" tests on a fifth of the words, which did not train (but may have
chosen the precisions, which are learned once, on the first split). The precision of chunks is the one that
CRFsuite has with c2 = 1.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import conll2000
from common import mean_difference, parser_of, write
from ocr_letters import Words
from structune import SequenceTagger
from structune.running import Run
from structune.tagging import paired_bootstrap, segment_scores

ORDERS = (1, 2)
PENALTY = 2.0
UNSEEN = 5  # parts of the words
TUNING, ROUNDS = "majorize", 10


# --- letters ------------------------------------------------------------------------------------------------


def letters(quick: bool) -> dict[str, Any]:
    words = Words()
    in_folds = [(words.folds == fold, words.folds != fold) for fold in range(1 if quick else 10)]
    result = {"words": len(set(words.texts)), "known words": compare(words, in_folds, quick)}
    if quick:
        return result
    kinds = np.unique(words.texts, return_inverse=True)[1] % UNSEEN
    by_word = [((words.folds == k) & (kinds != k), (words.folds != k) & (kinds == k)) for k in range(UNSEEN)]
    return {**result, "unseen words": compare(words, by_word, quick)}


def compare(words: Words, splits: list[tuple[Any, Any]], quick: bool) -> dict[str, Any]:
    folds, tuned = [], dict[int, dict[str, float]]()
    for parts in splits:
        train, test = (words.of(part) for part in parts)
        row: dict[str, Any] = {"words": [len(train[1]), len(test[1])]}
        for order in ORDERS:
            if order not in tuned:
                rounds = 3 if quick else ROUNDS
                tuner = SequenceTagger(order=order, tuning=TUNING, run=Run(max_iterations=rounds)).fit(*train)
                tuned[order] = dict(zip(tuner.group_names_, tuner.penalty_.tolist(), strict=True))
            tagger = SequenceTagger(order=order, penalty=tuned[order])
            start = time.perf_counter()
            tagger.fit(*train)
            row[f"order {order}"] = {"seconds": time.perf_counter() - start, "accuracy": tagger.score(*test)}
        print(row, flush=True)
        folds.append(row)
    return {"penalties": tuned, **means(folds)}


def means(folds: list[dict[str, Any]]) -> dict[str, Any]:
    accuracies = [[row[f"order {order}"]["accuracy"] for row in folds] for order in ORDERS]
    gain = mean_difference(*accuracies)
    return {"folds": folds, "means": np.mean(accuracies, axis=1).tolist(), "gain": gain}


# --- chunks -------------------------------------------------------------------------------------------------


def chunks(quick: bool) -> dict[str, Any]:
    limit = conll2000.QUICK if quick else None
    train, test = conll2000.load("train", limit), conll2000.load("test", limit)
    tables, true = [conll2000.table_of(data) for data in (train, test)], conll2000.labels_of(test)
    result: dict[str, Any] = {"penalty": PENALTY}
    predicted = []
    for order in ORDERS:
        tagger = SequenceTagger(order=order, penalty=PENALTY)
        start = time.perf_counter()
        tagger.fit(tables[0], conll2000.labels_of(train))
        seconds = time.perf_counter() - start
        predicted.append(tagger.predict(tables[1]))
        result[f"order {order}"] = {
            "seconds": seconds,
            "passes": tagger.passes_,
            "f1": segment_scores(true, predicted[-1]).overall.f1,
        }
        print(result, flush=True)
    return {**result, "gain": vars(paired_bootstrap(true, *predicted))}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("part", nargs="?", choices=["letters", "chunks"])
    asked = parser.parse_args()
    for name, measure in (("letters", letters), ("chunks", chunks)):
        if asked.part in (None, name):
            result = measure(asked.quick)
            print(result)
            if not asked.quick:
                write(f"orders_{name}", result)


if __name__ == "__main__":
    main()
