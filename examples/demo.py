"""What tuning gains, in under two minutes: run by `make demo`.

1. A tagger on sequences simulated as in Do, Foo & Ng 2007: 5 features matter, 35 are noise.
2. A classifier on scikit-learn's breast tumours, 60 to learn from.
3. A chunker on CoNLL-2000, 1500 sentences, where that data set can be loaded.

The first two compare the usual search of one hyperparameter on a grid (2^-10 .. 2^10, five folds) with
hyperparameters learned per group of features. Plots go to demo_output/.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from structune import Classifier, SequenceTagger
from structune.files import DatasetUnavailable
from structune.plots import plot_penalties, plot_tuning
from structune.tagging import conll2000_templates, extract, hmm_attributes, load_conll2000, simulate_hmm

OUTPUT = Path("demo_output")
console = Console()


def table(title: str, measure: str) -> Table:
    made = Table(title=title, title_justify="left")
    for column in ("precisions", "chosen by", measure, "seconds", "passes over the data"):
        made.add_column(column, justify="left" if column in ("precisions", "chosen by") else "right")
    return made


def row(to: Table, groups: str, method: str, runs: list[tuple[float, float, float]]) -> None:
    """One line: the mean measure, the seconds and the passes of the runs together."""
    value, seconds, passes = np.mean([r[0] for r in runs]), sum(r[1] for r in runs), sum(r[2] for r in runs)
    to.add_row(groups, method, f"{value:.3f}", f"{seconds:.1f}", f"{passes:.0f}")


def draw_sequences(n: int, seed: int) -> tuple[Any, list[list[str]]]:
    y, x = simulate_hmm(n, n_relevant=5, random_state=seed)
    return hmm_attributes(x), [["off" if v == 0 else "on" for v in states] for states in y]


def kind(weight: str) -> str:
    """Group of a weight of the simulated sequences, by its name."""
    if "->" in weight:
        return "transitions"
    return "relevant" if int(weight[1 : weight.index("=")]) < 5 else "noise"


def simulated_sequences() -> None:
    test = draw_sequences(1000, 1000)
    results = table("Simulated sequences: 20 to learn from, 5 draws", "labels right")
    settings: list[tuple[str, str, Any, Any]] = [
        ("one", "grid", "grid", "single"),
        ("one", "implicit gradient", "implicit", "single"),
        ("3 groups", "implicit gradient", "implicit", kind),
        ("3 groups", "majorisation", "majorize", kind),
    ]
    for groups, method, tuning, weight_groups in settings:
        runs = []
        for seed in range(5):
            x, y = draw_sequences(20, seed)
            start = time.perf_counter()
            model = SequenceTagger(tuning=tuning, groups=weight_groups, cv=5, n_jobs=1).fit(x, y)
            seconds = time.perf_counter() - start
            runs.append((model.score(*test), seconds, model.passes_))
        row(results, groups, method, runs)
        if (groups, tuning) == ("3 groups", "implicit"):
            plot_tuning(model.history_, model.group_names_, OUTPUT / "sequences_tuning.png")
    console.print(results)


def kind_of_feature(name: str) -> str:
    """Which of the mean, the worst value and the error of a measure this is."""
    return "error" if "error" in name else name.split()[0]


def tumours() -> None:
    data = load_breast_cancer()
    kinds = [kind_of_feature(name) for name in data.feature_names]
    results = table("Breast tumours: 60 to learn from, 509 to test on, 10 draws", "diagnoses right")
    settings: list[tuple[str, str, str, Any]] = [
        ("one", "grid", "grid", "single"),
        ("one", "implicit gradient", "implicit", "single"),
        ("one", "majorisation", "majorize", "single"),
        (f"{len(set(kinds))} groups", "majorisation", "majorize", kinds),
    ]
    for label, method, tuning, groups in settings:
        runs = []
        for seed in range(10):
            x, xt, y, yt = train_test_split(data.data, data.target, train_size=60, random_state=seed)
            scaler = StandardScaler().fit(x)
            start = time.perf_counter()
            model = Classifier(tuning=tuning, groups=groups, n_jobs=1).fit(scaler.transform(x), y)
            seconds = time.perf_counter() - start
            runs.append((model.score(scaler.transform(xt), yt), seconds, model.passes_))
        row(results, label, method, runs)
    plot_penalties(model.penalty_, model.group_names_, OUTPUT / "tumours_penalties.png")
    console.print(results)


def chunking() -> None:
    from structune.tagging import segment_scores

    try:
        train, test = load_conll2000("train"), load_conll2000("test")
    except DatasetUnavailable as reason:
        console.print(f"CoNLL-2000 left out: {reason}")
        return
    templates = conll2000_templates()
    x = extract(templates, train.columns, train.lengths).take(np.arange(1500))
    xt = extract(templates, test.columns, test.lengths)
    y, yt = train.sentences("y")[:1500], test.sentences("y")
    results = table("CoNLL-2000 chunking: 1500 sentences to learn from", "segment F1")
    for groups, method, tuning in (
        ("one", "fixed at 1", None),
        ("22 groups", "implicit gradient", "implicit"),
    ):
        start = time.perf_counter()
        model = SequenceTagger(tuning=tuning, verbose=1).fit(x, y)
        seconds = time.perf_counter() - start
        f1 = segment_scores(yt, model.predict(xt)).overall.f1
        row(results, groups, method, [(f1, seconds, model.passes_)])
    plot_tuning(model.history_, model.group_names_, OUTPUT / "chunking_tuning.png")
    plot_penalties(model.penalty_, model.group_names_, OUTPUT / "chunking_penalties.png")
    console.print(results)


def compile_kernels() -> None:
    """The first use of a kernel compiles it, some seconds in all; later runs find it on disk."""
    x, y = draw_sequences(8, 0)
    SequenceTagger(tuning="implicit").fit(x, y).predict(x)
    Classifier().fit(np.eye(2), [0, 1])


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    with console.status("compiling"):
        compile_kernels()
    for part in (simulated_sequences, tumours, chunking):
        part()
    console.print(f"{time.perf_counter() - start:.0f} s, plots in {OUTPUT.resolve()}")


if __name__ == "__main__":
    main()
