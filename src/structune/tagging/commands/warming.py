"""What `structune warm` does for sequence taggers."""

from __future__ import annotations

from structune.tagging.tagger import SequenceTagger

_NUMBERS_OF_LABELS = (2, 4, 8)  # rows of scores are gone through by so many at a time


def run() -> None:
    """Learn as commands do if nothing else is asked for, and label in all their ways."""
    for n in _NUMBERS_OF_LABELS:
        labels = [[str((s + t) % n) for t in range(n)] for s in range(n + 3)]
        tokens = [[[f"w={label}", "bias"] for label in sentence] for sentence in labels]
        for tuning in (None, "implicit"):
            tagger = SequenceTagger(tuning=tuning, n_jobs=1).fit(tokens, labels)
        tagger.predict(tokens)
        tagger.predict_marginals(tokens)
        tagger.predict_nbest(tokens, 2)
