"""Sparse taggers beside CRFsuite's, on CoNLL-2000: objective, weights, size of the file, F1, time.

    python benchmarks/sparse_taggers.py
    python benchmarks/sparse_taggers.py --quick    # 1000 sentences, written nowhere

The features are those of conll2000.py, and the objective is CRFsuite's: loss + c1 |w| + c2 w^2. CRFsuite ends
by its own rule, or after 200 iterations (100 without c1, as in conll2000.py). structune ends by its default
tolerance; "seconds_to_crfsuite" is when its objective was first as low as CRFsuite's last one. Each fit is a
process of its own, one after the other; speeds of tagging are medians of five turns.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import conll2000
from common import asked_to_be_quick, crfsuite_trainer, write

PENALTIES = {"c1 = 0, c2 = 1": (0.0, 1.0), "c1 = 1, c2 = 0.1": (1.0, 0.1), "c1 = 0.1, c2 = 0.1": (0.1, 0.1)}
RATES = {"majorize, separate": None, "majorize, separate, beta = 0.001": 0.001}
ITERATIONS, ITERATIONS_L2, TURNS = 200, 100, 5


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        program, limit, path, *numbers = sys.argv[2:]
        result = WORKERS[program](int(limit) or None, path, *(json.loads(number) for number in numbers))
        print(json.dumps(result))
        return
    quick = asked_to_be_quick(__doc__ or "")
    limit = str(conll2000.QUICK if quick else 0)
    result: dict[str, Any] = {"penalties": {}, "learned": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        for name, (c1, c2) in PENALTIES.items():
            peer = run_worker("crfsuite", limit, path, c1, c2)
            ours = run_worker("structune", limit, path, c1, c2, peer["objective"])
            show(f"CRFsuite, {name}", peer)
            show(f"structune, {name}", ours)
            minus = conll2000.compare(truth(), peer.pop("labels"), ours.pop("labels"))
            result["penalties"][name] = {"crfsuite": peer, "structune": ours | {"minus_crfsuite": minus}}
        for name, beta in RATES.items():
            result["learned"][name] = run_worker("learned", limit, path, beta)
            show(f"structune, {name}", result["learned"][name])
    if not quick:
        write("sparse_taggers", result, "python-crfsuite", "seqeval")


def run_worker(program: str, limit: str, path: str, *numbers: float | None) -> dict[str, Any]:
    import subprocess

    command = [sys.executable, __file__, "worker", program, limit, path, *map(json.dumps, numbers)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def show(name: str, row: dict[str, Any]) -> None:
    told = {key: value for key, value in row.items() if key not in ("labels", "curve")}
    print(f"{name}: {json.dumps(told)}", flush=True)


def truth() -> list[list[str]]:
    return conll2000.labels_of(conll2000.load("test", None))


def f1(labels: list[list[str]]) -> float:
    from seqeval.metrics import f1_score

    return float(f1_score(truth(), labels))


def tokens_per_second(tag: Any, n_tokens: int) -> float:
    """By the seconds of a processor: neither program tags on threads, and other work may run beside it."""
    times = []
    for _ in range(TURNS):
        start = time.process_time()
        tag()
        times.append(time.process_time() - start)
    return n_tokens / float(np.median(times))


# --- one fit in one process ---------------------------------------------------------------------------------


def crfsuite_worker(limit: int | None, path: str, c1: float, c2: float) -> dict[str, Any]:
    import pycrfsuite

    train, test = conll2000.load("train", limit), conll2000.load("test", None)
    x, y = conll2000.all_string_features(train), conll2000.labels_of(train)
    trainer = crfsuite_trainer(x, y, c1=c1, c2=c2, max_iterations=ITERATIONS if c1 else ITERATIONS_L2)
    start, busy = time.perf_counter(), time.process_time()
    trainer.train(path)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    last = trainer.logparser.last_iteration
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    features = conll2000.all_string_features(test)
    labels = [tagger.tag(xs) for xs in features]
    return {
        "seconds": seconds,
        "processor_seconds": busy,
        "iterations": last["num"],
        "objective": last["loss"],
        "weights": last["active_features"],
        "bytes": Path(path).stat().st_size,
        "f1": f1(labels),
        "tokens_per_second": tokens_per_second(lambda: [tagger.tag(xs) for xs in features], test.n_tokens),
        "labels": labels,
    }


def structune_worker(limit: int | None, path: str, c1: float, c2: float, target: float) -> dict[str, Any]:
    row = fitted(limit, path, {"penalty": 2 * c2, "l1": c1, "verbose": 0})
    curve = row.pop("curve")
    reached = [record for record in curve if record["objective"] <= target]
    row["seconds_to_crfsuite"] = reached[0]["seconds"] if reached else None
    row["evaluations_to_crfsuite"] = reached[0]["evaluation"] if reached else None
    return row


def learned_worker(limit: int | None, path: str, beta: float | None) -> dict[str, Any]:
    from structune.learning import MajorizeTuner

    row = fitted(limit, path, {"tuning": MajorizeTuner(beta=beta), "groups": "separate"})
    del row["curve"], row["labels"], row["objective"]
    return row


def fitted(limit: int | None, path: str, settings: dict[str, Any]) -> dict[str, Any]:
    from structune import SequenceTagger, load

    settings = {"transitions": "seen", "boundary": False, **settings}
    train, test, tiny = (
        conll2000.load("train", limit),
        conll2000.load("test", None),
        conll2000.load("train", 30),
    )
    SequenceTagger(**settings).fit(conll2000.table_of(tiny), conll2000.labels_of(tiny))  # compiled kernels
    table, y = conll2000.table_of(train), conll2000.labels_of(train)
    start, busy = time.perf_counter(), time.process_time()
    model = SequenceTagger(**settings).fit(table, y)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    model.save(path)
    loaded, table, strings = load(path), conll2000.table_of(test), conll2000.all_string_features(test)
    labels = loaded.predict(table)
    return {
        "seconds": seconds,
        "processor_seconds": busy,
        "passes": model.passes_,
        "objective": model.history_[-1].get("objective"),
        "weights": int(np.count_nonzero(model.coef_)),
        "attributes": len(model.chain_.attributes),
        "bytes": Path(path).stat().st_size,
        "f1": f1(labels),
        "tokens_per_second": tokens_per_second(lambda: loaded.predict(table), test.n_tokens),
        "tokens_per_second_from_strings": tokens_per_second(lambda: loaded.predict(strings), test.n_tokens),
        "labels": labels,
        "curve": [record for record in model.history_ if "evaluation" in record],
    }


WORKERS = {"crfsuite": crfsuite_worker, "structune": structune_worker, "learned": learned_worker}


if __name__ == "__main__":
    main()
