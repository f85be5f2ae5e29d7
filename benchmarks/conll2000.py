"""CoNLL-2000 chunking against python-crfsuite: the same features, the same objective, and what tuning gains.

    python benchmarks/conll2000.py speed    # features, training, memory, tagging, threads
    python benchmarks/conll2000.py tuning   # F1: CRFsuite's c2 by held-out F1, structune's tuners
    python benchmarks/conll2000.py text     # the same with the templates of the command line
    python benchmarks/conll2000.py --quick  # all, on 1000 sentences, written nowhere

`speed` runs the two programs alternately, each in a process of its own, and reports medians of their ratios.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from common import crfsuite_labels, crfsuite_trainer, parser_of, peak_bytes, write

C2 = 1.0
CRFSUITE_ITERATIONS = 100
QUICK = 1000


# --- data ---------------------------------------------------------------------------------------------------


def load(subset: str, limit: int | None) -> Any:
    from structune.tagging import load_conll2000

    data = load_conll2000(subset)
    n = len(data.lengths) if limit is None else limit
    tokens = int(data.lengths[:n].sum())
    columns = {name: column[:tokens] for name, column in data.columns.items()}
    return type(data)(columns, data.lengths[:n])


def labels_of(data: Any) -> list[list[str]]:
    return data.sentences("y")


def string_features(words: list[str], tags: list[str]) -> list[list[str]]:
    """The 19 templates the usual way: a list of strings for each token."""
    n, features = len(words), []
    for t in range(n):
        row = [f"w[{o}]={words[t + o]}" for o in range(-2, 3) if 0 <= t + o < n]
        row += [f"w[{o}]|w[{o + 1}]={words[t + o]}|{words[t + o + 1]}" for o in (-1, 0) if 0 <= t + o < n - 1]
        row += [f"pos[{o}]={tags[t + o]}" for o in range(-2, 3) if 0 <= t + o < n]
        for o in range(-2, 2):
            if 0 <= t + o < n - 1:
                row.append(f"pos[{o}]|pos[{o + 1}]={tags[t + o]}|{tags[t + o + 1]}")
        for o in range(-2, 1):
            if 0 <= t + o < n - 2:
                text = f"{tags[t + o]}|{tags[t + o + 1]}|{tags[t + o + 2]}"
                row.append(f"pos[{o}]|pos[{o + 1}]|pos[{o + 2}]={text}")
        if t == 0:
            row.append("__BOS__")
        if t == n - 1:
            row.append("__EOS__")
        features.append(row)
    return features


def all_string_features(data: Any) -> list[list[list[str]]]:
    return [string_features(w, p) for w, p in zip(data.sentences("w"), data.sentences("pos"), strict=True)]


def table_of(data: Any, text: bool = False) -> Any:
    from structune.tagging import conll2000_templates, extract, text_templates

    templates = text_templates("w", ["pos"]) if text else conll2000_templates()
    return extract(templates, data.columns, data.lengths)


def strings_of(table: Any) -> list[list[list[str]]]:
    """A table's attributes as lists of strings."""
    names = np.array(table.names, object)[table.indices].tolist()
    tokens = [names[a:b] for a, b in pairwise(table.indptr.tolist())]
    offsets = [0, *np.cumsum(table.lengths).tolist()]
    return [tokens[a:b] for a, b in pairwise(offsets)]


# --- workers: one program in one process --------------------------------------------------------------------


def peak_mb() -> float:
    return peak_bytes() / 2**20


def train_crfsuite(x: Any, y: Any, c2: float, path: str) -> tuple[float, dict[str, Any]]:
    trainer = crfsuite_trainer(x, y, c2=c2, max_iterations=CRFSUITE_ITERATIONS)
    start = time.perf_counter()
    trainer.train(path)
    return time.perf_counter() - start, trainer.logparser.last_iteration


def crfsuite_worker(limit: int | None, path: str) -> dict[str, Any]:
    import pycrfsuite

    train, test = load("train", limit), load("test", limit)
    start = time.perf_counter()
    x = all_string_features(train)
    features = time.perf_counter() - start
    start = time.perf_counter()
    trainer = crfsuite_trainer(x, labels_of(train), c2=C2, max_iterations=CRFSUITE_ITERATIONS)
    append = time.perf_counter() - start
    start = time.perf_counter()
    trainer.train(path)
    seconds = time.perf_counter() - start
    peak = peak_mb()
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    start = time.perf_counter()
    xt = all_string_features(test)
    middle = time.perf_counter()
    for xs in xt:
        tagger.tag(xs)
    return {
        "features": features,
        "encode": append,
        "train": seconds,
        "peak_mb": peak,
        "objective": trainer.logparser.last_iteration["loss"],
        "iterations": trainer.logparser.last_iteration["num"],
        "tokens_per_second": test.n_tokens / (time.perf_counter() - middle),
        "tokens_per_second_with_features": test.n_tokens / (time.perf_counter() - start),
    }


def fit_until(target: float, chain: Any, shard: Any) -> tuple[np.ndarray, Any, int, float]:
    """Weights where the objective first reaches the target, the risk, its passes, and the seconds it took."""
    from structune.learning import LogLoss, Risk, fit_l2
    from structune.running import ThreadExecutor

    class Reached(Exception):  # noqa: N818
        pass

    passes = 0

    def until_target(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal passes
        value, gradient = evaluate(w)
        passes += 1
        if value + C2 * float(w @ w) <= target:
            raise Reached(w)
        return value, gradient

    start = time.perf_counter()
    risk = Risk.over(chain, LogLoss(), shard, ThreadExecutor(2))
    evaluate, risk.value_and_gradient = risk.value_and_gradient, until_target  # type: ignore[method-assign]
    try:
        w = fit_l2(risk, np.full(chain.n_weights, 2 * C2), tolerance=0.0).w
    except Reached as reached:
        w = reached.args[0]
    seconds = time.perf_counter() - start
    risk.value_and_gradient = evaluate  # type: ignore[method-assign]
    return w, risk, passes, seconds


def structune_worker(limit: int | None, target: float, path: str) -> dict[str, Any]:
    from structune import SequenceTagger
    from structune.running import Run
    from structune.tagging import Chain

    train, test = load("train", limit), load("test", limit)
    tiny = load("train", 30)
    SequenceTagger(tuning=None, transitions="seen", boundary=False, run=Run(max_iterations=3)).fit(
        table_of(tiny), labels_of(tiny)
    )
    start = time.perf_counter()
    table = table_of(train)
    features = time.perf_counter() - start
    start = time.perf_counter()
    chain = Chain.build(table, labels_of(train), transitions="seen", boundary=False)
    shard = chain.encode(table, labels_of(train))
    encode = time.perf_counter() - start
    del table  # as the tagger does
    w, risk, passes, seconds = fit_until(target, chain, shard)
    peak = peak_mb()
    start = time.perf_counter()
    test_table = table_of(test)
    middle = time.perf_counter()
    labels = chain.best(w, chain.encode(test_table))[0].tolist()
    [chain.labels[y] for y in labels]
    end = time.perf_counter()
    return {
        "features": features,
        "encode": encode,
        "train": seconds,
        "passes": passes,
        "peak_mb": peak,
        "objective": float(risk.value_and_gradient(w)[0] + C2 * float(w @ w)),
        "weights": chain.n_weights,
        "tokens_per_second": test.n_tokens / (end - middle),
        "tokens_per_second_with_features": test.n_tokens / (end - start),
        "threads": thread_speedup(chain, shard, w),
        "same_weights": objective_at_crfsuite_weights(chain, risk, path),
    }


def thread_speedup(chain: Any, shard: Any, w: np.ndarray) -> dict[str, Any]:
    """Seconds of a gradient with 1 and 2 threads, alternately, and whether the results are the same bits."""
    from structune.learning import LogLoss, Risk
    from structune.running import ThreadExecutor

    risks = [Risk.over(chain, LogLoss(), shard, ThreadExecutor(n)) for n in (1, 2)]
    times: list[list[float]] = [[], []]
    for _ in range(15):
        for risk, list_ in zip(risks, times, strict=True):
            start = time.perf_counter()
            risk.value_and_gradient(w)
            list_.append(time.perf_counter() - start)
    (v1, g1), (v2, g2) = (risk.value_and_gradient(w) for risk in risks)
    one, two = np.median(times[0]), np.median(times[1])
    speedups = np.array(times[0]) / np.array(times[1])
    return {
        "one": float(one),
        "two": float(two),
        "speedup": float(np.median(speedups)),
        "speedup_quartiles": np.percentile(speedups, (25, 75)).tolist(),
        "bit_identical": bool(v1 == v2 and np.array_equal(g1, g2)),
    }


def objective_at_crfsuite_weights(chain: Any, risk: Any, path: str) -> float:
    """Our objective at the weights that CRFsuite ended with."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()
    known = {f"{a} : {y}": weight for (a, y), weight in info.state_features.items()}
    known |= {f"{a} -> {b}": weight for (a, b), weight in info.transitions.items()}
    w = np.array([known.pop(name, 0.0) for name in chain.weight_names()])
    assert not known, f"{len(known)} CRFsuite weights have no counterpart"
    return float(risk.value_and_gradient(w)[0] + C2 * float(w @ w))


def run_worker(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "worker", *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


# --- speed --------------------------------------------------------------------------------------------------


def speed(limit: int | None, repeats: int) -> dict[str, Any]:
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "crfsuite.model")
        for _ in range(repeats):
            peer = run_worker("crfsuite", str(limit or 0), path)
            ours = run_worker("structune", str(limit or 0), path, repr(peer["objective"]))
            pairs.append({"crfsuite": peer, "structune": ours})
            show_pair(peer, ours)

    def ratio(of: Any) -> float:
        return float(np.median([of(pair["crfsuite"]) / of(pair["structune"]) for pair in pairs]))

    one = pairs[0]
    difference = abs(one["structune"]["same_weights"] / one["crfsuite"]["objective"] - 1)
    return {
        "times_faster": {
            "training": ratio(lambda r: r["train"]),
            "features_and_encoding": ratio(lambda r: r["features"] + r["encode"]),
            "tagging": 1 / ratio(lambda r: r["tokens_per_second"]),
            "tagging_with_features": 1 / ratio(lambda r: r["tokens_per_second_with_features"]),
        },
        "crfsuite_memory_over_structune": ratio(lambda r: r["peak_mb"]),
        "objective_relative_difference": difference,
        "runs": pairs,
    }


def show_pair(peer: dict[str, Any], ours: dict[str, Any]) -> None:
    for name, row in (("crfsuite", peer), ("structune", ours)):
        print(
            f"{name:10s} features {row['features']:.2f} s, encoding {row['encode']:.2f} s, training "
            f"{row['train']:.2f} s to {row['objective']:.4f}, peak {row['peak_mb']:.0f} MB, "
            f"{row['tokens_per_second']:.0f} tokens/s"
        )
    threads = ours["threads"]
    same = threads["bit_identical"]
    print(f"  {ours['passes']} passes; 2 threads {threads['speedup']:.2f}x, same bits: {same}")
    print(f"  at CRFsuite's weights {ours['same_weights']:.6f}", flush=True)


# --- tuning -------------------------------------------------------------------------------------------------


def tuning(limit: int | None, text: bool = False) -> dict[str, Any]:
    train, test = load("train", limit), load("test", limit)
    tables, y_train, y = (table_of(train, text), table_of(test, text)), labels_of(train), labels_of(test)
    crfsuite, peer_predictions = tune_crfsuite(tables, y_train, y)
    ours, predictions = tune_structune(tables, y_train, y, text)
    for name, row in ours.items():
        row["minus_crfsuite"] = compare(y, peer_predictions, predictions[name])
    result = {"crfsuite": crfsuite, "structune": ours}
    print(
        json.dumps(
            {name: {k: row[k] for k in ("f1", "minus_crfsuite")} for name, row in ours.items()}, indent=1
        )
    )
    return result


def compare(y: Any, a: Any, b: Any) -> dict[str, Any]:
    """Paired difference in segment F1, b - a, with a 95 % bootstrap interval over sentences."""
    from structune.tagging import paired_bootstrap

    difference = paired_bootstrap(y, a, b)
    return {"value": difference.value, "low": difference.low, "high": difference.high}


def tune_crfsuite(tables: Any, y: Any, y_test: Any) -> tuple[dict[str, Any], Any]:
    """c2 in 2^-6 .. 2^6 by F1 on the held-out part, then a fit on all."""
    from seqeval.metrics import f1_score
    from sklearn.model_selection import ShuffleSplit

    x, x_test = map(strings_of, tables)
    fit, held = next(ShuffleSplit(1, test_size=0.2, random_state=0).split(np.empty(len(x))))
    rows, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")

        for k in range(-6, 7):
            seconds, last = train_crfsuite([x[i] for i in fit], [y[i] for i in fit], 2.0**k, path)
            f1 = f1_score([y[i] for i in held], crfsuite_labels(path, [x[i] for i in held]))
            rows.append({"log2_c2": k, "heldout_f1": float(f1), "seconds": seconds, "loss": last["loss"]})
            print(f"CRFsuite c2 = 2^{k}: held-out F1 {f1:.4f}, {seconds:.1f} s", flush=True)
        best = max(rows, key=lambda row: row["heldout_f1"])["log2_c2"]
        seconds, _ = train_crfsuite(x, y, 2.0**best, path)
        predicted = crfsuite_labels(path, x_test)
    total = time.perf_counter() - start
    f1 = float(f1_score(y_test, predicted))
    print(
        f"CRFsuite chose c2 = 2^{best}: test F1 {f1:.4f}, one fit {seconds:.1f} s, all {total:.1f} s",
        flush=True,
    )
    summary = {"grid": rows, "log2_c2": best, "f1": f1, "fit_seconds": seconds, "total_seconds": total}
    return summary, predicted


def tune_structune(tables: Any, y: Any, y_test: Any, text: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    from seqeval.metrics import f1_score

    from structune import SequenceTagger
    from structune.learning import GridTuner

    grid = GridTuner(values=[2.0**k for k in range(-6, 7)], warm=True)
    settings: dict[str, dict[str, Any]] = {
        "fixed": {"penalty": 1.0},
        "implicit": {"tuning": "implicit"},
        "majorize": {"tuning": "majorize"},
        **({} if text else {"grid": {"tuning": grid, "groups": "single"}}),
    }
    table, test_table = tables
    SequenceTagger(tuning="implicit").fit(table.take(range(30)), y[:30])  # compiled kernels, warm
    rows, predictions = {}, {}
    for name, setting in settings.items():
        start = time.perf_counter()
        model = SequenceTagger(**setting).fit(table, y)
        seconds = time.perf_counter() - start
        predictions[name] = model.predict(test_table)
        rows[name] = {
            "f1": float(f1_score(y_test, predictions[name])),
            "seconds": seconds,
            "passes": model.passes_,
            "status": model.status_,
            "penalty": dict(zip(model.group_names_, model.penalty_.tolist(), strict=True)),
            "times_fixed_seconds": seconds / rows["fixed"]["seconds"] if rows else 1.0,
            "times_fixed_passes": model.passes_ / rows["fixed"]["passes"] if rows else 1.0,
        }
        row = rows[name]
        print(
            f"structune {name}: F1 {row['f1']:.4f}, {seconds:.1f} s ({row['times_fixed_seconds']:.2f} x), "
            f"{row['passes']:.0f} passes ({row['times_fixed_passes']:.2f} x)",
            flush=True,
        )
    for name in ("implicit", "majorize") if "grid" in rows else ():
        rows[name]["minus_grid"] = compare(y_test, predictions["grid"], predictions[name])
    return rows, predictions


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        program, limit, path, *target = sys.argv[2:]
        if program == "crfsuite":
            print(json.dumps(crfsuite_worker(int(limit) or None, path)))
        else:
            print(json.dumps(structune_worker(int(limit) or None, float(target[0]), path)))
        return
    parser = parser_of(__doc__)
    parser.add_argument("part", nargs="?", choices=("speed", "tuning", "text"))
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    limit = QUICK if arguments.quick else None
    for part in ("speed", "tuning", "text"):
        if arguments.part in (None, part):
            result = (
                speed(limit, 1 if arguments.quick else arguments.repeats)
                if part == "speed"
                else tuning(limit, text=part == "text")
            )
            if not arguments.quick:
                write(f"conll2000_{part}", result, "python-crfsuite", "seqeval")


if __name__ == "__main__":
    main()
