"""SegmentTagger beside SequenceTagger, with the same templates, on the chunks of CoNLL-2000.

    python benchmarks/segments.py
    python benchmarks/segments.py --quick    # 1000 sentences for training, written nowhere

Both have the 19 templates of CRFsuite's example; the segment tagger has its features of segments beside them.
With one penalty, and with precisions of the groups of weights learned by `majorize`. Chains are measured
with labels in BIOES, too, which know the ends of segments; segments without the features of their words, too:
then they have a length, and transitions between them. One thread;
seconds are those of a processor, since other work ran on the machine.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import conll2000
from common import asked_to_be_quick, write
from structune import SegmentTagger, SequenceTagger
from structune.tagging import AttributeTable, segment_scores
from structune.tagging.structure.labels import read_segments, write_labels

TUNINGS = {"one penalty": None, "majorize": "majorize"}


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    data = conll2000.load("train", conll2000.QUICK if quick else None), conll2000.load("test", None)
    tables, (y, truth) = [conll2000.table_of(each) for each in data], map(conll2000.labels_of, data)
    plain = [without_words(table) for table in tables]
    result: dict[str, Any] = {"sentences": len(y), "models": {}}
    for how, tuning in TUNINGS.items():
        options: dict[str, Any] = {"n_jobs": 1, "tuning": tuning}
        models = {
            "chain": (SequenceTagger(**options), tables, y),
            "chain, BIOES": (SequenceTagger(forbidden="bioes", **options), tables, as_bioes(y)),
            "segments, lengths only": (SegmentTagger(**options), plain, y),
            "segments": (SegmentTagger(**options), tables, y),
        }
        base = None
        for name, (model, inputs, outputs) in models.items():
            of, labels = measure(model, inputs, outputs, truth)
            base = labels if base is None else base
            of["minus_chain"] = conll2000.compare(truth, base, labels)
            result["models"][f"{name}, {how}"] = of
            print(f"{name}, {how}: {of}", flush=True)
    if not quick:
        write("segments", result, "seqeval")


def without_words(table: AttributeTable) -> AttributeTable:
    """The same attributes by names in which no word is found."""
    names = [f"word{name[1:]}" if name.startswith("w[0]=") else name for name in table.names]
    return AttributeTable(table.lengths, table.indptr, table.indices, table.values, names)


def as_bioes(y: Any) -> list[list[str]]:
    """The same segments in BIOES."""
    found = []
    for labels in y:
        segments = read_segments([labels], np.array([len(labels)]))
        found.append(write_labels(segments.types, (segments.stops - segments.starts).tolist(), "bioes"))
    return found


def measure(model: Any, tables: Any, y: Any, truth: Any) -> tuple[dict[str, Any], list[list[str]]]:
    """What a fit takes and reaches on the test set, and its labels."""
    start = time.process_time()
    model.fit(tables[0], y)
    fitted = time.process_time()
    labels = model.predict(tables[1])
    found = {
        "f1": segment_scores(truth, labels).overall.f1,
        "weights": model.coef_.size,
        "seconds": fitted - start,
        "passes": model.passes_,
        "tokens_per_second": tables[1].n_tokens / (time.process_time() - fitted),
        "precisions": {
            name: value
            for name, value in zip(model.group_names_, model.penalty_.tolist(), strict=True)
            if name.startswith(("segment.", "transitions"))
        },
    }
    return found, labels


if __name__ == "__main__":
    main()
