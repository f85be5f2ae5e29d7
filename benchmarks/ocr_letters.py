"""Letters of handwritten words (Taskar, Guestrin & Koller, NIPS 2003): tuners beside CRFsuite, ten folds.

    python benchmarks/ocr_letters.py          # one fold trains and nine test; then nine train and one tests
    python benchmarks/ocr_letters.py --quick  # two folds of the first, written nowhere

All have the same features: the 128 pixels and a constant of each letter, all pairs of neighbouring letters,
and the letters that begin and end words. CRFsuite's c2 is the power of two that gets most letters right of a
fifth of the training words, held out. Where nine folds train, it is chosen the first time only, on words of
which some test later, which is to its advantage.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, crfsuite_labels, crfsuite_trainer, mean_difference, write
from structune import SequenceTagger
from structune.files.data_sets import find
from structune.tagging import token_scores

FOLDS = 10
EXPONENTS = range(-4, 8)
TUNERS: dict[str, dict[str, Any]] = {
    "fixed": {"penalty": 1.0},
    "majorize": {"tuning": "majorize"},
    "implicit": {"tuning": "implicit"},
}
_LETTERS = "sequence/ocr_letters_taskar.npz"


class Words:
    """Images of the letters of words, and the letters."""

    def __init__(self) -> None:
        with np.load(find(_LETTERS)) as data:
            pixels = np.unpackbits(data["pixels"], axis=1)
            self.lengths, self.folds = data["word_lengths"].astype(np.int64), data["word_folds"]
            letters = [chr(ord("a") + y) for y in data["labels"]]
        self.images = np.hstack((pixels, np.ones((len(pixels), 1)))).astype(np.float64)  # and a constant
        self.ends = np.cumsum(self.lengths)
        self.letters = [letters[b - n : b] for b, n in zip(self.ends, self.lengths, strict=True)]
        self.texts = ["".join(word) for word in self.letters]

    def of(self, which: Any) -> tuple[Any, list[list[str]]]:
        chosen = np.flatnonzero(which)
        rows = np.concatenate([np.arange(self.ends[s] - self.lengths[s], self.ends[s]) for s in chosen])
        return (self.images[rows], self.lengths[chosen]), [self.letters[s] for s in chosen]


def strings_of(images: Any, lengths: Any) -> list[list[list[str]]]:
    """What CRFsuite reads: the names of what is not zero, and where words begin and end."""
    rows = [[str(j) for j in np.flatnonzero(row)] for row in images]
    for end, n in zip(np.cumsum(lengths), lengths, strict=True):
        rows[end - n].append("begin")
        rows[end - 1].append("end")
    return [rows[end - n : end] for end, n in zip(np.cumsum(lengths), lengths, strict=True)]


class CRFsuite:
    """CRFsuite with one c2 after another."""

    def __init__(self, folder: str) -> None:
        self.path = str(Path(folder) / "model")

    def right(self, c2: float, train: Any, test: Any) -> float:
        """The share of the letters of `test` that it gets right."""
        every_pair = {"feature.possible_transitions": True}
        crfsuite_trainer(*train, c2=c2, max_iterations=200, **every_pair).train(self.path)
        return token_scores(test[1], crfsuite_labels(self.path, test[0])).overall.f1

    def tuned(self, train: Any, test: Any, log2_c2: int | None) -> dict[str, Any]:
        start = time.perf_counter()
        best = self.best_exponent(*train) if log2_c2 is None else log2_c2
        accuracy = self.right(2.0**best, train, test)
        return {"accuracy": accuracy, "seconds": time.perf_counter() - start, "log2_c2": best}

    def best_exponent(self, x: Any, y: Any) -> int:
        from sklearn.model_selection import train_test_split

        x, held_x, y, held_y = train_test_split(x, y, test_size=0.2, random_state=0)
        return max(EXPONENTS, key=lambda k: self.right(2.0**k, (x, y), (held_x, held_y)))


def of_fold(words: Words, trains: Any, log2_c2: int | None = None) -> dict[str, Any]:
    train, test = words.of(trains), words.of(~trains)
    with tempfile.TemporaryDirectory() as folder:
        strings = [(strings_of(*x), y) for x, y in (train, test)]
        row: dict[str, Any] = {"crfsuite": CRFsuite(folder).tuned(*strings, log2_c2)}
    for name, settings in TUNERS.items():
        start = time.perf_counter()
        tagger = SequenceTagger(**settings).fit(*train)
        row[name] = {
            "accuracy": token_scores(test[1], tagger.predict(test[0])).overall.f1,
            "seconds": time.perf_counter() - start,
            "passes": tagger.passes_,
            "penalty": dict(zip(tagger.group_names_, tagger.penalty_.tolist(), strict=True)),
        }
    print({name: (round(of["accuracy"], 4), round(of["seconds"], 1)) for name, of in row.items()}, flush=True)
    return {"words": [len(train[1]), len(test[1])], **row}


def summary(folds: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"folds": folds}
    of = {name: [row[name]["accuracy"] for row in folds] for name in ("crfsuite", *TUNERS)}
    for name, accuracies in of.items():
        found[name] = {
            "accuracy": float(np.mean(accuracies)),
            "seconds": float(np.median([row[name]["seconds"] for row in folds])),
            "minus_crfsuite": mean_difference(of["crfsuite"], accuracies),
        }
    return found


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    words = Words()
    SequenceTagger(tuning="implicit").fit(*words.of(np.arange(len(words.folds)) < 30))  # compiled, warm
    in_one = [words.folds == fold for fold in range(2 if quick else FOLDS)]
    result = {"one fold trains": summary([of_fold(words, trains) for trains in in_one])}
    if not quick:
        first = of_fold(words, ~in_one[0])
        others = [of_fold(words, ~tests, first["crfsuite"]["log2_c2"]) for tests in in_one[1:]]
        result["nine folds train"] = summary([first, *others])
        write("ocr_letters", result, "python-crfsuite")


if __name__ == "__main__":
    main()
