"""Convergence of the solvers for margin losses: the figure of Gornitz et al. 2011.

    python benchmarks/solvers.py            # about ten minutes on one core
    python benchmarks/solvers.py --quick    # smaller problems, into a temporary folder

The structured hinge loss with margin rescaling and one penalty, on classes (500 examples of satimage), chains
(60 sentences of CoNLL-2000), RNA (sequences of S151Rfam of up to 120 bases) and genes (60 pieces of a genome,
of five genes or so, with wrong starts and stops as the cost). Seconds of the processor, and
passes (a decoding of every example with its cost: an oracle call each), until the objective is within a share
of the best lower bound that any solver found. The n-slack cutting plane solves its quadratic programme over
all outputs seen by the same interior point method (PIQP) as the bundle its small one; other programmes would
take other times, and the same passes. One thread, medians of alternating runs; a run ends after 100 seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from baseline_solvers import minimize_n_slack, minimize_subgradient
from common import asked_to_be_quick, folder_for, write
from conll2000 import labels_of, load, table_of
from structune.errors import DataError
from structune.flat import Classes, load_uci
from structune.genes import OrfGraph, OrfRules, load_genes
from structune.genes.prokaryotes.examples import cut_genomes
from structune.learning import MarginLoss, Risk
from structune.learning.solvers.bundle import Bundle, minimize_bundle
from structune.rna import RNA, load_rna
from structune.running.monitor import Monitor
from structune.tagging import Chain

NAME = "solvers"
GAPS, REPEATS, MOST_SECONDS = (1e-1, 1e-2, 1e-3), 5, 100.0
PENALTIES = {"classes": 16.0, "chain": 10.0, "rna": 1.0, "genes": 100.0}
Trace = list[tuple[float, int, float, float]]  # seconds, passes, objective, lower bound


class Tracing(Monitor):
    """Keeps what solvers show."""

    def __init__(self) -> None:
        super().__init__(max_seconds=MOST_SECONDS)
        self.trace: Trace = []
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self._began

    def show(self, stage: str, *, done: float | None = None, **values: Any) -> None:
        bound = values.get("lower_bound", -np.inf)
        self.trace.append((self.seconds, values["evaluation"], values["objective"], bound))


def classes(quick: bool) -> Risk:
    data = load_uci("satimage")
    n = 200 if quick else 500
    X = data.X[:n].toarray() if issparse(data.X) else data.X[:n]
    X = StandardScaler().fit_transform(X)
    structure = Classes(np.unique(data.y).tolist(), [f"x{k}" for k in range(X.shape[1])])
    return Risk.over(structure, MarginLoss(), structure.encode(X, data.y[:n].tolist()))


def chain(quick: bool) -> Risk:
    data = load("train", 20 if quick else 60)
    table, labels = table_of(data), labels_of(data)
    structure = Chain.build(table, labels)
    return Risk.over(structure, MarginLoss(), structure.encode(table, labels))


def rna(quick: bool) -> Risk:
    data, structure = load_rna("s151rfam"), RNA()
    known = [
        (x, y)
        for x, y in zip(data.sequences, data.structures, strict=True)
        if len(x) <= 120 and can_encode(structure, x, y)
    ]
    sequences, structures = zip(*known[: 10 if quick else None], strict=True)
    return Risk.over(structure, MarginLoss(), structure.encode(sequences, structures))


def can_encode(structure: RNA, sequence: str, partners: str) -> bool:
    try:
        structure.encode([sequence], [partners])
    except DataError:
        return False
    return True


def genes(quick: bool) -> Risk:
    rules = OrfRules()
    pieces = cut_genomes(load_genes("e_coli"), rules)
    n, structure = 15 if quick else 60, OrfGraph(rules)
    return Risk.over(structure, MarginLoss(), structure.encode(pieces.sequences[:n], pieces.genes[:n]))


PROBLEMS: dict[str, Callable[[bool], Risk]] = {
    "classes": classes,
    "chain": chain,
    "rna": rna,
    "genes": genes,
}


def bundle_with(keep_outputs: bool | None) -> Callable[..., Any]:
    def solve(risk: Risk, precision: Any, monitor: Monitor) -> Any:
        bundle = Bundle(risk, precision, keep_outputs=keep_outputs)
        return minimize_bundle(
            risk, precision, bundle=bundle, tolerance=GAPS[-1], max_iterations=10**6, monitor=monitor
        )

    return solve


SOLVERS: dict[str, Callable[..., Any]] = {
    "bundle": bundle_with(None),
    "bundle, no outputs kept": bundle_with(False),
    "bundle, outputs kept": bundle_with(True),
    "n-slack cutting plane": partial(minimize_n_slack, tolerance=GAPS[-1]),
    "subgradient": partial(minimize_subgradient, tolerance=1e-9),
}


def solvers_for(risk: Risk) -> dict[str, Callable[..., Any]]:
    """The default is one of the two: it is not run twice."""
    default = "outputs kept" if risk.structure.decoding_is_costly else "no outputs kept"
    return {name: solve for name, solve in SOLVERS.items() if name != f"bundle, {default}"}


def run(problem: str, quick: bool, repeats: int) -> dict[str, Any]:
    """The traces of all solvers on a problem, and when they were close to the optimum."""
    risk = PROBLEMS[problem](quick)
    precision = np.full(risk.n_weights, PENALTIES[problem])
    risk.value_and_gradient(np.zeros(risk.n_weights))  # compiles outside the times
    traces: dict[str, list[Trace]] = {name: [] for name in solvers_for(risk)}
    for _ in range(repeats):
        for name, solve in solvers_for(risk).items():
            monitor = Tracing()
            solve(risk, precision, monitor=monitor)
            traces[name].append(monitor.trace)
            print(f"{problem}, {name}: {monitor.trace[-1]}", file=sys.stderr, flush=True)
    bound = max(point[3] for runs in traces.values() for trace in runs for point in trace)
    return {
        "n_examples": sum(map(len, risk.shards)),
        "n_weights": risk.n_weights,
        "penalty": PENALTIES[problem],
        "lower_bound": bound,
        "solvers": {name: describe(runs, bound) for name, runs in traces.items()},
    }


def describe(runs: list[Trace], bound: float) -> dict[str, Any]:
    """Median seconds and passes to each gap, and the trace of the first run, one point a second decimal."""
    reached = {}
    for gap in GAPS:
        hits = [next((p for p in trace if p[2] - bound <= gap * p[2]), None) for trace in runs]
        found = [hit for hit in hits if hit is not None]
        full = len(found) == len(runs)
        reached[f"{gap:g}"] = {
            "seconds": float(np.median([hit[0] for hit in found])) if full else None,
            "passes": float(np.median([hit[1] for hit in found])) if full else None,
        }
    trace = [(round(s, 4), n, 1.0 - bound / objective) for s, n, objective, _ in runs[0]]
    return {"reached": reached, "trace": thinned(trace)}


def thinned(trace: list[Any]) -> list[Any]:
    """At most some 200 points, the last among them."""
    step = max(1, len(trace) // 200)
    return trace[::step] + trace[-1:]


def draw(found: dict[str, Any], path: Path) -> None:
    """Relative gap against seconds and against passes, a column a problem."""
    figure = Figure(figsize=(4 * len(found), 7), layout="constrained")
    panels = figure.subplots(2, len(found), squeeze=False)
    for column, (problem, record) in enumerate(found.items()):
        for name, solver in record["solvers"].items():
            seconds, passes, gaps = (np.array(values) for values in zip(*solver["trace"], strict=True))
            shown = np.maximum(gaps, 1e-5)
            for axes, x in zip(panels[:, column], (seconds, passes), strict=True):
                axes.plot(np.maximum(x, 1e-3), shown, color=f"C{list(SOLVERS).index(name)}", label=name)
        for axes, label in zip(panels[:, column], ("seconds", "passes"), strict=True):
            axes.set(xscale="log", yscale="log", xlabel=label, ylim=(1e-4, 2.0))
            axes.axhline(GAPS[-1], color="0.7", linewidth=0.8)
        panels[0, column].set_title(
            f"{problem}: {record['n_examples']} examples, {record['n_weights']} weights"
        )
    for axes in panels[:, 0]:
        axes.set_ylabel("gap to the best lower bound, relative")
    handles = {}
    for axes in panels.flat:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder = folder_for(NAME, quick)
    found = {}
    with threadpool_limits(1):
        for problem in PROBLEMS:
            found[problem] = run(problem, quick, 1 if quick else REPEATS)
            write(str(folder / NAME), {"gaps": GAPS, "problems": found}, "piqp")
    draw(found, folder / f"{NAME}.png")
    print(f"written to {folder / NAME}.json")


if __name__ == "__main__":
    main()
