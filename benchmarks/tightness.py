"""How tight the convex bound and the ramp loss are: figure 2 of Chapelle et al. 2008, on RNA structures.

    python benchmarks/tightness.py            # minutes on one core
    python benchmarks/tightness.py --quick    # sequences of up to 60 bases, into a temporary folder

Sequences of S151Rfam of up to 200 bases that the model can produce; the cost is 1 - recall, by Viterbi. The
objective is the sum of the losses over sequences plus penalty / 2 times the squared norm of the weights. How
the paper scales its lambda is unknown; beside the mean loss ours would be the penalty over the number of
sequences. Panels a and b: means over training sequences after every pass over the data of the convex-concave
procedure, from w = 0 through the minimum of the convex bound on, at the best weights of the round so far;
vertical lines are relinearisations. Panel c: the bounds minus the cost where the procedure ends, and for
comparison the convex bound minus the cost at the convex bound's own minimum. A run goes on where the results
end. Seconds are those of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import asked_to_be_quick, folder_for, write
from structune.learning import MarginLoss, RampLoss, Risk
from structune.learning.margin_losses import Violations
from structune.learning.solvers.cccp import minimize_cccp
from structune.plots.figure import LABEL_SIZE, finish, new_figure, tidy
from structune.rna import RNA, load_rna
from structune.rna.inputs import fit_into_space
from structune.running.monitor import Monitor

NAME = "tightness"
MOST_BASES = 200
PENALTIES = tuple(4.0**k for k in range(-1, 7))
SHOWN = (1.0, 256.0)  # in panels a and b
LABELS = {"convex": "convex bound", "ramp": "ramp loss", "cost": "actual cost"}
COLOURS = {"convex": "#1f77b4", "ramp": "#d62728", "cost": "#2ca02c"}


class NotedMargin(MarginLoss):
    """A margin loss that says where it was last decoded."""

    def __init__(self, last: list[Any]) -> None:
        super().__init__()
        self.last = last

    def violations(self, structure: Any, shard: Any, w: Any, augmented: bool = True) -> Violations:
        self.last[:] = [w]
        return super().violations(structure, shard, w, augmented)


class NotedRamp(RampLoss):
    """A ramp loss whose bound does so."""

    def __init__(self) -> None:
        super().__init__()
        self.last: list[Any] = []

    @property
    def bound(self) -> MarginLoss:
        return NotedMargin(self.last)


class Passes(Monitor):
    """Collects the best weights of a round after every pass, and which passes began a round."""

    def __init__(self, loss: NotedRamp) -> None:
        super().__init__()
        self.loss, self.weights, self.begun = loss, list[Any](), list[int]()
        self._objective = np.inf

    def show(self, stage: str, *, done: float | None = None, **values: Any) -> None:
        begins = values["evaluation"] == 1
        if begins:
            self.begun.append(len(self.weights))
        better = begins or values["objective"] < self._objective
        self.weights.append(self.loss.last[0] if better else self.weights[-1])
        self._objective = values["objective"]


class Bounds:
    """Both bounds and the actual cost on some sequences, means over them."""

    def __init__(self, most_bases: int) -> None:
        data, self.rna = load_rna("s151rfam"), RNA()
        short = data.take(s for s, sequence in enumerate(data.sequences) if len(sequence) <= most_bases)
        fitting = fit_into_space(self.rna, short.sequences, short.structures, "skip")
        self.shard = self.rna.encode([short.sequences[s] for s in fitting.kept], fitting.structures)
        self.n, self.n_skipped = len(self.shard), len(fitting.skipped)
        self.convex = Risk.over(self.rna, MarginLoss(), self.shard)
        self.ramp = Risk.over(self.rna, RampLoss(), self.shard)

    def at(self, w: Any) -> dict[str, float]:
        values = {"convex": self.convex.value(w), "ramp": self.ramp.value(w), "cost": self.ramp.task_cost(w)}
        return {name: round(value / self.n, 9) for name, value in values.items()}

    def along(self, passes: Passes) -> dict[str, list[float]]:
        rows: list[dict[str, float]] = []
        for k, w in enumerate(passes.weights):
            rows.append(rows[-1] if k and w is passes.weights[k - 1] else self.at(w))
        return {name: [row[name] for row in rows] for name in LABELS}


def run(penalty: float, bounds: Bounds, shown: bool) -> dict[str, Any]:
    """The procedure at one penalty; with all passes if they are shown."""
    start, loss = time.process_time(), NotedRamp()
    passes, risk = Passes(loss), Risk.over(bounds.rna, loss, bounds.shard)
    fit = minimize_cccp(risk, np.full(risk.n_weights, penalty), monitor=passes)
    record: dict[str, Any] = {
        "seconds": round(time.process_time() - start, 1),
        "passes": risk.passes,
        "rounds": len(passes.begun) - 1,
        "status": fit.status,
        "convex_minimum": bounds.at(passes.weights[passes.begun[1] - 1]),
        "end": bounds.at(fit.w),
    }
    if shown:
        record |= {"begun": passes.begun, "curves": bounds.along(passes)}
    print(f"penalty {penalty:g}: {record['end']}, {record['seconds']} s", file=sys.stderr, flush=True)
    return record


# --- the figure -------------------------------------------------------------------------------------------


def plot_passes(axes: Any, penalty: str, record: dict[str, Any]) -> None:
    for name, values in record["curves"].items():
        axes.plot(range(1, len(values) + 1), values, label=LABELS[name], color=COLOURS[name])
    for begun in record["begun"][1:]:
        axes.axvline(begun + 0.5, color="#999999", linewidth=0.5, zorder=0)
    axes.set(title=f"penalty {penalty}", xlabel="passes over the data", ylabel="mean over sequences", ylim=0)


def plot_tightness(axes: Any, records: dict[str, dict[str, Any]]) -> None:
    records = dict(sorted(records.items(), key=lambda item: float(item[0])))
    penalties = [float(penalty) for penalty in records]
    for label, where, name, style in (
        ("convex - cost, at the end", "end", "convex", "-"),
        ("convex - cost, at its own minimum", "convex_minimum", "convex", "--"),
        ("ramp - cost, at the end", "end", "ramp", "-"),
    ):
        gaps = [record[where][name] - record[where]["cost"] for record in records.values()]
        axes.plot(penalties, gaps, style, label=label, color=COLOURS[name], marker="o", markersize=3)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(title="tightness", xlabel="penalty", ylabel="bound - actual cost")


def plot(result: dict[str, Any], path: Path) -> None:
    figure = new_figure(path, 11, 3.8)
    panels = figure.subplots(1, len(SHOWN) + 1)
    for axes, penalty in zip(panels, SHOWN, strict=False):
        plot_passes(axes, f"{penalty:g}", result["penalties"][f"{penalty:g}"])
    plot_tightness(panels[-1], result["penalties"])
    for axes in panels:
        tidy(axes)
    for axes, place in ((panels[0], "center right"), (panels[-1], "lower right")):
        axes.legend(loc=place, framealpha=1.0, edgecolor="none", fontsize=LABEL_SIZE)
    finish(figure, path)


def beginning(path: Path, bounds: Bounds, most_bases: int) -> dict[str, Any]:
    """The results so far."""
    settings = {"most_bases": most_bases, "sequences": bounds.n, "outside_the_space": bounds.n_skipped}
    if not path.exists():
        return {"settings": settings, "penalties": {}}
    result: dict[str, Any] = json.loads(path.read_text())
    if result["settings"] != settings:
        sys.exit(f"{path} has the settings {result['settings']}, expected {settings}: move it away")
    del result["machine"]
    return result


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder, most_bases = folder_for(NAME, quick), 60 if quick else MOST_BASES
    bounds = Bounds(most_bases)
    file = folder / f"{NAME}.json"
    result = beginning(file, bounds, most_bases)
    with threadpool_limits(1):
        for penalty in reversed(PENALTIES):
            if f"{penalty:g}" not in result["penalties"]:
                result["penalties"][f"{penalty:g}"] = run(penalty, bounds, penalty in SHOWN)
                write(str(file.with_suffix("")), result)
    plot(result, file.with_suffix(".png"))
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
