"""What tuning gains, in under two minutes: run by `make demo`.

1. A tagger on sequences simulated as in Do, Foo & Ng 2007: 5 features matter, 35 are noise.
2. A classifier on scikit-learn's handwritten digits, 200 to learn from.
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
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from structune import SequenceTagger
from structune.datasets import DatasetUnavailable, hmm_attributes, load_conll2000, simulate_hmm
from structune.features import conll2000_templates, extract
from structune.losses import LogLoss
from structune.plots import plot_penalties, plot_tuning
from structune.structures.base import Groups
from structune.structures.classes import Classes
from structune.tuning import GridTuner, ImplicitTuner, MajorizeTuner, TuningProblem

OUTPUT = Path("demo_output")
console = Console()


def table(title: str, measure: str) -> Table:
    made = Table(title=title)
    for column in ("hyperparameters", "chosen by", measure, "seconds", "passes over the data"):
        made.add_column(column, justify="left" if column in ("hyperparameters", "chosen by") else "right")
    return made


def row(to: Table, groups: str, method: str, value: float, seconds: float, passes: float) -> None:
    to.add_row(groups, method, f"{value:.3f}", f"{seconds:.2f}", f"{passes:.0f}")


def simulated_sequences() -> None:
    def draw(n: int, seed: int) -> tuple[Any, list[list[str]]]:
        y, x = simulate_hmm(n, n_relevant=5, random_state=seed)
        return hmm_attributes(x), [["off" if v == 0 else "on" for v in states] for states in y]

    def kind(weight: str) -> str:
        if "->" in weight:
            return "transitions"
        return "relevant" if int(weight[1 : weight.index("=")]) < 5 else "noise"

    (x, y), (xt, yt) = draw(20, 0), draw(1000, 1)
    results = table("Simulated sequences: 20 to learn from, 1000 to test on", "share of labels right")
    settings: list[tuple[str, str, Any, Any]] = [
        ("one", "grid", "grid", "single"),
        ("one", "implicit gradient", "implicit", "single"),
        ("3 groups", "implicit gradient", "implicit", kind),
        ("3 groups", "majorisation", "majorize", kind),
    ]
    for groups, method, tuning, weight_groups in settings:
        start = time.perf_counter()
        model = SequenceTagger(tuning=tuning, groups=weight_groups, folds=5).fit(x, y)
        row(results, groups, method, model.score(xt, yt), time.perf_counter() - start, model.passes_)
        if (groups, tuning) == ("3 groups", "implicit"):
            plot_tuning(model.history_, model.group_names_, OUTPUT / "sequences_tuning.png")
    console.print(results)


def digits() -> None:
    x, y = load_digits(return_X_y=True)
    names = [f"row {j // 8}={j % 8}" for j in range(64)]
    x, xt, y, yt = train_test_split(x / 16.0, y, train_size=200, random_state=0, stratify=y)
    structure = Classes(range(10), names)
    shard, test = structure.encode(x, y), structure.encode(xt, yt)
    results = table(f"Handwritten digits: 200 to learn from, {len(yt)} to test on", "share of digits right")
    single, rows = Groups.single(structure.n_weights), structure.groups()
    settings: list[tuple[str, str, Any, Groups]] = [
        ("one", "grid", GridTuner(), single),
        ("one", "majorisation", MajorizeTuner(), single),
        ("one a row of pixels", "majorisation", MajorizeTuner(), rows),
        ("one a row of pixels", "implicit gradient", ImplicitTuner(), rows),
    ]
    for groups, method, tuner, weight_groups in settings:
        start = time.perf_counter()
        problem = TuningProblem.build(
            structure, LogLoss(), shard, weight_groups, splits=tuner.needs_splits, folds=5
        )
        result = tuner.tune(problem)
        right = float(np.mean(structure.best(result.w, test)[0] == test.labels))
        row(results, groups, method, right, time.perf_counter() - start, result.passes)
    plot_penalties(np.exp(result.log_precision), rows.names, OUTPUT / "digits_penalties.png")
    console.print(results)


def chunking() -> None:
    from structune.metrics import segment_scores

    try:
        train, test = load_conll2000("train"), load_conll2000("test")
    except DatasetUnavailable as reason:
        console.print(f"CoNLL-2000 left out: {reason}")
        return
    templates = conll2000_templates()
    x = extract(templates, train.columns, train.lengths).take(np.arange(1500))
    xt = extract(templates, test.columns, test.lengths)
    y, yt = train.sentences("y")[:1500], test.sentences("y")
    results = table("CoNLL-2000 chunking: 1500 sentences to learn from, 2012 to test on", "segment F1")
    for groups, method, tuning in (
        ("one", "fixed at 1", None),
        ("20 templates and transitions", "implicit gradient", "implicit"),
    ):
        start = time.perf_counter()
        model = SequenceTagger(tuning=tuning, verbose=1).fit(x, y)
        f1 = segment_scores(yt, model.predict(xt)).overall.f1
        row(results, groups, method, f1, time.perf_counter() - start, model.passes_)
    plot_tuning(model.history_, model.group_names_, OUTPUT / "chunking_tuning.png")
    plot_penalties(model.penalty_, model.group_names_, OUTPUT / "chunking_penalties.png")
    console.print(results)


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    for part in (simulated_sequences, digits, chunking):
        part()
    console.print(f"{time.perf_counter() - start:.0f} s, plots in {OUTPUT.resolve()}")


if __name__ == "__main__":
    main()
