"""Time and memory of training passes against examples, length, features, labels, threads and Dask workers.

    python benchmarks/scaling.py            some fifteen minutes
    python benchmarks/scaling.py --quick    the small sizes, to a temporary folder

A pass is the loss and its gradient. Sequences are simulated, with labels of a Markov chain and attributes
that depend on them; one number is varied, the others are those of `BASE`. Every measurement is the median of
passes in a process of its own, whose memory is counted from before the data were made. The overhead of Dask
is that of two worker processes over two threads, in turns, where an evaluation takes about a second. The
projection takes the cost of a token from the largest data here: a pass is linear in the tokens.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from common import alternately, asked_to_be_quick, keep, peak_bytes

NAME = "scaling"
BASE = {"tokens": 500_000, "length": 25, "attributes": 10, "labels": 10, "threads": 1}
VARIED = {
    "tokens": [31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000],
    "length": [5, 25, 125, 625, 3_125, 15_625],
    "attributes": [2, 5, 10, 20, 40],
    "labels": [2, 5, 10, 20, 40, 80],
    "threads": [1, 2],
}
QUICK = {"tokens": [5_000, 10_000], "threads": [1, 2]}
WORKERS = 2
VALUES = 1_000  # of each attribute
PASSES = 5
DASK = {"tokens": 6_000_000, "length": 25, "attributes": 10, "labels": 20}
BILLION = 10**9


def problem(tokens: int, length: int, attributes: int, labels: int, threads: int) -> tuple[Any, Any]:
    """A risk, and a point."""
    from structune.running import ThreadExecutor

    chain, shard = simulated(tokens, length, attributes, labels)
    return at_a_point(chain, shard, ThreadExecutor(threads))


def at_a_point(chain: Any, shard: Any, executor: Any) -> tuple[Any, Any]:
    from structune.learning import LogLoss, Risk

    risk = Risk.over(chain, LogLoss(), shard, executor)
    return risk, np.random.default_rng(1).normal(scale=0.1, size=risk.n_weights)


def simulated(tokens: int, length: int, attributes: int, labels: int) -> tuple[Any, Any]:
    """A chain over all pairs of values and labels, and a shard."""
    from structune.tagging import AttributeTable, Chain

    rng = np.random.default_rng(0)
    n = max(1, tokens // length)
    y = rng.integers(labels, size=n * length)
    values = (y[:, None] + labels * rng.integers(VALUES // labels, size=(y.size, attributes))) % VALUES
    indices = (values + VALUES * np.arange(attributes)).astype(np.int32).ravel()
    names = [f"a{k}={v}" for k in range(attributes) for v in range(VALUES)]
    table = AttributeTable(
        np.full(n, length), np.arange(0, indices.size + 1, attributes), indices, None, names
    )
    keys = np.arange(len(names) * labels)
    chain = Chain([str(k) for k in range(labels)], names, keys, np.arange(labels**2))
    outputs = np.array(chain.labels)[y].reshape(n, length).tolist()
    return chain, chain.encode(table, outputs)


def one(settings: dict[str, int]) -> dict[str, float]:
    """In this process: seconds of a pass, and bytes at most beyond what there was before."""
    risk, w = problem(**{**settings, "tokens": 4 * settings["length"]})
    risk.value_and_gradient(w)  # imports and compiles
    before = peak_bytes()
    risk, w = problem(**settings)
    seconds = alternately({"pass": lambda: risk.value_and_gradient(w)}, PASSES)["pass"]
    peak = peak_bytes()
    shards = sum(shard.nbytes for shard in risk.shards)
    return {"seconds": seconds, "bytes": peak - before, "shard bytes": shards}


def overhead(sizes: dict[str, int]) -> dict[str, Any]:
    """Dask on this machine beside threads."""
    from structune.running import make_executor

    chain, shard = simulated(**sizes)
    risks = {
        name: at_a_point(chain, shard, make_executor(WORKERS, executor))
        for name, executor in (("threads", None), ("dask", "dask"))
    }
    calls = {name: lambda risk=risk, w=w: risk.value_and_gradient(w) for name, (risk, w) in risks.items()}
    alternately(calls, 2)
    seconds = alternately(calls, 4 * PASSES)
    times_as_long = seconds["dask"] / seconds["threads"]
    return {**sizes, "workers": WORKERS, **seconds, "times as long": times_as_long}


def projection(largest: dict[str, float], tokens: int) -> dict[str, Any]:
    """A billion tokens, from the cost of one."""
    per_token = largest["seconds"] / tokens
    per_pass = per_token * BILLION
    return {
        "seconds of a token": per_token,
        "bytes of a token on disk": largest["shard bytes"] / tokens,
        "core seconds of a pass": per_pass,
        "core hours of 100 passes": 100 * per_pass / 3600,
        "seconds of a pass on 64 cores": per_pass / 64,
        "gigabytes on disk": BILLION * largest["shard bytes"] / tokens / 1e9,
    }


def figure(result: dict[str, Any], path: Any) -> None:
    """Seconds of a pass and memory, each against what is varied."""
    names = [name for name in result["varied"] if name != "threads"]
    size = (3 * len(names), 5.2)
    figure, panels = plt.subplots(
        2, len(names), figsize=size, layout="constrained", sharey="row", squeeze=False
    )
    for name, (above, below) in zip(names, panels.T, strict=True):
        rows = result["varied"][name]
        sizes = [row[name] for row in rows]
        for axes, key, scale in ((above, "seconds", 1.0), (below, "bytes", 1e6)):
            axes.plot(sizes, [row[key] / scale for row in rows], "o-", color="#0072b2", markersize=4)
            axes.set(xscale="log", yscale="log", xticks=sizes[:: 1 + len(sizes) // 4])
            axes.set_xticklabels(f"{size:,}" for size in sizes[:: 1 + len(sizes) // 4])
            axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            axes.grid(alpha=0.3)
        below.set(xlabel=name)
    panels[0, 0].set(ylabel="seconds of a pass")
    panels[1, 0].set(ylabel="memory (MB)")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    if "--one" in sys.argv:
        print(json.dumps(one(json.loads(sys.argv[-1]))))
        return
    quick = asked_to_be_quick(__doc__)
    varied: dict[str, list[dict[str, float]]] = {}
    for name, sizes in (QUICK if quick else VARIED).items():
        for size in sizes:
            settings = {**BASE, **({"tokens": 10_000} if quick else {}), name: size}
            command = [sys.executable, __file__, "--one", json.dumps(settings)]
            row = {name: size, **json.loads(subprocess.check_output(command))}
            print(row, flush=True)
            varied.setdefault(name, []).append(row)
    last = varied["tokens"][-1]
    result = {
        "base": BASE,
        "varied": varied,
        "dask": overhead({**DASK, "tokens": 20_000} if quick else DASK),
        "projection": projection(last, int(last["tokens"])),
    }
    print(json.dumps({key: result[key] for key in ("dask", "projection")}, indent=1))
    figure(result, keep(NAME, quick, result).with_suffix(".png"))


if __name__ == "__main__":
    main()
