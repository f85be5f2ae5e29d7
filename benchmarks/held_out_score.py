"""Does it pay to tune by what is scored? CoNLL-2000 chunking, tuned by held-out loss, accuracy and F1.

    python benchmarks/held_out_score.py          # three draws of 2000 training sentences
    python benchmarks/held_out_score.py --quick  # of 500, written nowhere

The same sentences, features, held-out part and groups each time; only the criterion differs. Scores are
those of the best labelling, on the whole test set.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from common import asked_to_be_quick, write
from structune import SequenceTagger
from structune.learning import ImplicitTuner
from structune.tagging import (
    conll2000_templates,
    extract,
    load_conll2000,
    paired_bootstrap,
    segment_scores,
    token_scores,
)

CRITERIA = ("loss", "accuracy", "f1")
DRAWS, TRAINING, QUICK = 3, 2000, 500


def sentences(data: Any, chosen: Any = slice(None)) -> tuple[Any, list[list[str]]]:
    """Attributes and labels of some sentences."""
    numbers = np.arange(data.lengths.size)[chosen]
    starts = np.append(0, np.cumsum(data.lengths))
    tokens = np.concatenate([np.arange(starts[s], starts[s + 1]) for s in numbers])
    columns = {name: [column[t] for t in tokens] for name, column in data.columns.items()}
    part = type(data)(columns, data.lengths[numbers])
    return extract(conll2000_templates(), part.columns, part.lengths), part.sentences("y")


def row_of(criterion: str, train: Any, test: Any) -> tuple[dict[str, Any], Any]:
    """How good a tagger is that was tuned by a criterion, and its predictions."""
    start = time.perf_counter()
    model = SequenceTagger(tuning=ImplicitTuner(criterion=criterion), n_jobs=1).fit(*train)
    seconds, found = time.perf_counter() - start, model.predict(test[0])
    marginals = [token for sentence in model.predict_marginals(test[0]) for token in sentence]
    own = [label for sentence in test[1] for label in sentence]
    p = np.array([token.get(label, 0.0) for token, label in zip(marginals, own, strict=True)])
    row = {
        "f1": segment_scores(test[1], found).overall.f1,
        "accuracy": token_scores(test[1], found).overall.f1,
        "expected_accuracy": float(p.mean()),
        "log_loss_of_tokens": float(-np.log(np.maximum(p, 1e-12)).mean()),
        "passes": model.passes_,
        "seconds": seconds,
        "status": model.status_,
        "penalty": dict(zip(model.group_names_, model.penalty_.tolist(), strict=True)),
    }
    shown = ", ".join(f"{name} {row[name]:.4f}" for name in list(row)[:4])
    print(f"{criterion}: {shown}, {row['passes']:.0f} passes, {seconds:.0f} s, {row['status']}", flush=True)
    return row, found


def draw(n: int, seed: int, train: Any, test: Any) -> dict[str, Any]:
    """All criteria on n training sentences drawn at random."""
    chosen = np.sort(np.random.default_rng(seed).choice(train.lengths.size, n, replace=False))
    part, rows, predictions = sentences(train, chosen), {}, {}
    for criterion in CRITERIA:
        rows[criterion], predictions[criterion] = row_of(criterion, part, test)
    for criterion in CRITERIA[1:]:
        found = paired_bootstrap(test[1], predictions["loss"], predictions[criterion])
        rows[criterion]["f1_minus_loss"] = {**vars(found), "text": str(found)}
        print(f"  F1 of {criterion} - loss: {found}", flush=True)
    return rows


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    train, test = load_conll2000("train"), sentences(load_conll2000("test"))
    n = QUICK if quick else TRAINING
    draws = [draw(n, seed, train, test) for seed in range(DRAWS)]
    means = {
        c: {
            name: float(np.mean([rows[c][name] for rows in draws]))
            for name in ("f1", "accuracy", "log_loss_of_tokens", "passes")
        }
        for c in CRITERIA
    }
    for criterion, row in means.items():
        print(criterion, {name: round(value, 4) for name, value in row.items()})
    if not quick:
        write("held_out_score", {"sentences": n, "means": means, "draws": draws})


if __name__ == "__main__":
    main()
