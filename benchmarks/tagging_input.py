"""From strings to tags beside python-crfsuite: tokens as lists, as dicts, one sentence a call, and training.

    python benchmarks/tagging_input.py           # all, written to results/tagging_input.json
    python benchmarks/tagging_input.py --quick   # 1000 sentences, written nowhere

Both programs tag the test sentences of CoNLL-2000 with the same weights, those of CRFsuite, in turns; every
turn has new strings, as they come from text. Training is from lists of strings to CRFsuite's objective after
100 iterations, each program in a process of its own, with its peak memory. Ratios are medians over turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import conll2000 as conll
from common import asked_to_be_quick, crfsuite_trainer, write

TURNS, TRAININGS, ITERATIONS = 15, 3, 30
SENTENCES_ONE_BY_ONE = 500
Form = Program = Callable[[Any], Any]


# --- tagging ------------------------------------------------------------------------------------------------


def as_dict(token: list[str]) -> dict[str, Any]:
    """The usual form: strings by name, a number and a flag."""
    pairs = (attribute.partition("=") for attribute in token)
    found: dict[str, Any] = {name: value if equals else True for name, equals, value in pairs}
    word = found["w[0]"]
    return {"bias": 1.0, **found, "is_title": word.istitle()}


def lists(data: Any) -> Any:
    return conll.all_string_features(data)


def dicts(data: Any) -> Any:
    return [[as_dict(token) for token in sentence] for sentence in lists(data)]


def models(train: Any, form: Form, path: str) -> tuple[Any, Any]:
    """CRFsuite's tagger, trained on sentences in this form, and ours with its weights."""
    import pycrfsuite

    from structune import SequenceTagger
    from structune.tagging import AttributeTable, Chain

    x, y = form(train), conll.labels_of(train)
    crfsuite_trainer(x, y, c2=conll.C2, max_iterations=ITERATIONS).train(path)
    peer = pycrfsuite.Tagger()
    peer.open(path)
    chain = Chain.build(AttributeTable.from_items(x), y, transitions="seen", boundary=False)
    ours = SequenceTagger().with_structure(chain)
    info = peer.info()
    separator = ":" if form is dicts else "="  # CRFsuite's, between the key and the string of a dict
    known = {f"{a.replace(separator, '=', 1)} : {y}": w for (a, y), w in info.state_features.items()}
    known |= {f"{a} -> {b}": w for (a, b), w in info.transitions.items()}
    ours.coef_ = np.array([known.pop(name, 0.0) for name in chain.weight_names()])
    assert not known, f"{len(known)} weights of CRFsuite have no counterpart"
    return peer, ours


def in_turns(inputs: Callable[[], Any], peer: Program, ours: Program, turns: int) -> dict[str, Any]:
    """Seconds of both on new strings each time, and their ratio."""
    seconds = np.empty((turns, 2))
    for turn in range(turns):
        for k, program in enumerate((peer, ours)):
            given = inputs()
            start = time.perf_counter()
            program(given)
            seconds[turn, k] = time.perf_counter() - start
    ratios = seconds[:, 0] / seconds[:, 1]
    return {
        "crfsuite": float(np.median(seconds[:, 0])),
        "structune": float(np.median(seconds[:, 1])),
        "times_faster": float(np.median(ratios)),
        "quartiles": np.percentile(ratios, (25, 75)).tolist(),
    }


def tagging(train: Any, test: Any, turns: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    few = conll.load("test", min(SENTENCES_ONE_BY_ONE, len(test.lengths)))
    for form in (lists, dicts):
        with tempfile.TemporaryDirectory() as folder:
            peer, ours = models(train, form, str(Path(folder) / "crfsuite.model"))
            found |= tagged(peer, ours, form, test, few, turns)
    return found


def tagged(peer: Any, ours: Any, form: Form, test: Any, few: Any, turns: int) -> dict[str, Any]:
    def tag(x: Any) -> Any:
        return [peer.tag(sentence) for sentence in x]

    def one_by_one(x: Any) -> Any:
        return [ours.predict([sentence])[0] for sentence in x]

    def from_words(data: Any) -> Any:
        return ours.predict(conll.table_of(data))

    x, name = form(test), form.__name__
    same = [a == b for a, b in zip(tag(x), ours.predict(x), strict=True)]
    assert one_by_one(form(few)) == ours.predict(form(few))
    found = {
        name: {"same sentences": float(np.mean(same))}
        | in_turns(lambda: form(test), tag, ours.predict, turns),
        f"{name}, one sentence a call": in_turns(lambda: form(few), tag, one_by_one, turns),
    }
    if form is lists:
        found["words"] = in_turns(lambda: test, lambda data: tag(lists(data)), from_words, turns)
    return found


# --- training: one program in one process -------------------------------------------------------------------


def crfsuite_worker(limit: int | None) -> dict[str, Any]:
    train = conll.load("train", limit)
    x, y = lists(train), conll.labels_of(train)
    start = time.perf_counter()
    trainer = crfsuite_trainer(x, y, c2=conll.C2, max_iterations=conll.CRFSUITE_ITERATIONS)
    reading = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
    return {
        "seconds": time.perf_counter() - start,
        "reading": reading,
        "peak_mb": conll.peak_mb(),
        "objective": trainer.logparser.last_iteration["loss"],
    }


def structune_worker(limit: int | None, target: float) -> dict[str, Any]:
    from structune import SequenceTagger
    from structune.running import Run
    from structune.tagging import AttributeTable, Chain

    train, tiny = conll.load("train", limit), conll.load("train", 30)
    SequenceTagger(penalty=1, run=Run(max_iterations=3)).fit(
        lists(tiny), conll.labels_of(tiny)
    )  # compiled kernels
    x, y = lists(train), conll.labels_of(train)
    start = time.perf_counter()
    table = AttributeTable.from_items(x)
    chain = Chain.build(table, y, transitions="seen", boundary=False)
    shard = chain.encode(table, y)
    reading = time.perf_counter() - start
    del table  # as the tagger does
    _, _, passes, _ = conll.fit_until(target, chain, shard)
    return {
        "seconds": time.perf_counter() - start,
        "reading": reading,
        "peak_mb": conll.peak_mb(),
        "passes": passes,
    }


def run_worker(*arguments: str) -> Any:
    command = [sys.executable, __file__, "worker", *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def training(limit: int | None, repeats: int) -> dict[str, Any]:
    runs = []
    for _ in range(repeats):
        peer = run_worker(str(limit or 0))
        runs.append({"crfsuite": peer, "structune": run_worker(str(limit or 0), repr(peer["objective"]))})
        print(json.dumps(runs[-1]), flush=True)

    def ratio(key: str) -> float:
        return float(np.median([run["crfsuite"][key] / run["structune"][key] for run in runs]))

    return {
        "times_faster": ratio("seconds"),
        "reading_times_faster": ratio("reading"),
        "crfsuite_memory_over_structune": ratio("peak_mb"),
        "runs": runs,
    }


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        limit, *target = sys.argv[2:]
        found = (
            structune_worker(int(limit) or None, float(target[0]))
            if target
            else crfsuite_worker(int(limit) or None)
        )
        print(json.dumps(found))
        return
    quick = asked_to_be_quick(__doc__)
    limit, turns, repeats = (conll.QUICK, 3, 1) if quick else (None, TURNS, TRAININGS)
    result: dict[str, Any] = {
        "settings": {
            "turns": turns,
            "trainings": repeats,
            "crfsuite_iterations_of_the_tagging_model": ITERATIONS,
            "machine_shared": f"load average {os.getloadavg()[0]:.1f} at the start",
        }
    }
    result["training"] = training(limit, repeats)  # first: workers inherit a peak of memory
    result["tagging"] = tagging(conll.load("train", limit), conll.load("test", limit), turns)
    print(json.dumps(result, indent=1))
    if not quick:
        write("tagging_input", result, "python-crfsuite")


if __name__ == "__main__":
    main()
