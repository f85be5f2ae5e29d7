"""The picture of the README: what is predicted, what is learned for that, and what it costs.

    python benchmarks/front_picture.py    # some seconds

The drawing is made anew, by the model that comes with structune. The curves are of results/flat_groups.json
(500 digits of USPS), the bars of results/flat_tables.json: medians over 23 data sets, with one penalty each.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

from common import RESULTS
from structune import RNAFolder
from structune.plots.figure import ACCENT, CONTRAST
from structune.rna import plot_structure

matplotlib.use("Agg")
from matplotlib import pyplot as plt

TARGET = Path(__file__).parent.parent / "docs" / "front.png"
TRNA = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
CURVES = {  # of flat_groups
    "grid": ("one penalty for all, by grid search", CONTRAST, "s--"),
    "implicit, grouped": ("one for each group of features, learned", ACCENT, "o-"),
}
BARS = {  # of flat_tables, each beside majorize
    "grid": "grid, 21 values, 5 folds",
    "grid_warm": "the same, warm starts",
    "LogisticRegressionCV": "LogisticRegressionCV",
    "implicit": 'structune, "implicit"',
}


def result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def draw_structure(axes: Any) -> None:
    folder = RNAFolder.pretrained()
    (structure,) = folder.predict([TRNA])
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "trna.png")
        plot_structure(TRNA, structure, folder.pair_probabilities(TRNA), path=path)
        image = plt.imread(path)
    rows, columns = (image[..., :3].min(axis=2) < 1).nonzero()
    axes.imshow(image[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1])
    axes.set_axis_off()


def draw_curves(axes: Any) -> None:
    found = result("flat_groups")["problems"]["usps"]
    for method, (label, color, style) in CURVES.items():
        values = [row["methods"][method] for row in found]
        axes.errorbar(
            [row["n_noise"] for row in found],
            [100 * value["error"] for value in values],
            [100 * value["standard_error"] for value in values],
            fmt=style,
            color=color,
            label=label,
            capsize=2,
            linewidth=2,
        )
    axes.set(xlabel="columns of noise among the features", ylabel="test error, %", ylim=(11.8, 17.2))
    axes.legend(frameon=False, loc="upper left")
    axes.grid(alpha=0.25)


def draw_bars(axes: Any) -> None:
    tasks = [result("flat_tables")["summary"][task] for task in ("binary", "multiclass")]
    ratios = {
        label: median(
            ratio
            for task in tasks
            for ratio in task[f"majorize minus {peer}"]["times_faster"]["by_set"].values()
        )
        for peer, label in BARS.items()
    } | {'structune, "majorize"': 1.0}
    colors = [ACCENT if "structune" in label else CONTRAST for label in ratios]
    bars = axes.barh(list(ratios), list(ratios.values()), color=colors, height=0.6)
    axes.bar_label(bars, [f"{ratio:.0f}" for ratio in ratios.values()], padding=4)
    axes.invert_yaxis()
    axes.set_xlabel("times as long as majorize")
    axes.margins(x=0.12)


def main() -> None:
    plt.rcParams["font.size"] = 12
    figure, panels = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained", width_ratios=(1.1, 1, 0.75))
    titles = (
        "It predicts structures,\nwith probabilities (a tRNA)",
        "learns which features are to be trusted\n(handwritten digits)",
        "and needs a few fits for it\n(median of 23 data sets)",
    )
    for axes, draw, title in zip(panels, (draw_structure, draw_curves, draw_bars), titles, strict=True):
        draw(axes)
        axes.set_title(title, loc="left", fontsize=13)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
