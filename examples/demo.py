"""What structune does, in about a minute: run by `make demo`. Writes one HTML page, demo_output/index.html.

1. Folds three RNAs whose structures are known, with the pretrained model.
2. Finds the genes of a simulated piece of a bacterium, with the pretrained model.
3. Trains a tagger on made-up addresses, which tunes itself.
4. Compares one penalty chosen by grid search with penalties that are learned for each group of features.

Nothing is downloaded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from structune import Classifier, ProkaryoticGeneFinder, RNAFolder, SequenceTagger
from structune.cli.samples import write_sample
from structune.genes import gene_scores, plot_genes, read_gff3, read_sequences
from structune.html_reports.page import Section, Table, Text, Verbatim, write_page
from structune.html_reports.pictures import picture
from structune.html_reports.training import training_sections
from structune.rna import base_pair_scores, plot_pair_probabilities, plot_structure
from structune.tagging import extract, hmm_attributes, read_conll, simulate_hmm, text_templates

OUTPUT = Path("demo_output")
console = Console(highlight=False)
RNAS = {
    "yeast tRNA-Phe": (
        "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA",
        "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))....",
    ),
    "HIV-1 TAR": ("GGCAGAUCUGAGCCUGGGAGCUCUCUGCC", "((((((...((((......))))))))))"),
    "add riboswitch": (
        "CGCUUCAUAUAAUCCUAAUGAUAUGGUUUGGGAGUUUCUACCAAGAGCCUUAAACUCUUGAUUAUGAAGUG",
        "(((((((((...((((((.........))))))........((((((.......))))))..)))))))))",
    ),
}


def rnas() -> Iterator[Section]:
    folder = RNAFolder.pretrained()
    sequences, known = zip(*RNAS.values(), strict=True)
    predicted, rows, lines = folder.predict(sequences), [], []
    for name, sequence, true, found in zip(RNAS, sequences, known, predicted, strict=True):
        score = base_pair_scores([true], [found]).pooled
        rows.append((name, f"{score.sensitivity:.2f}", f"{score.ppv:.2f}"))
        lines += [name, f"{sequence}  sequence", f"{true}  known", f"{found}  predicted", ""]
    name, sequence = next(iter(RNAS)), sequences[0]
    probabilities = folder.pair_probabilities(sequence)
    draw = partial(plot_structure, sequence, predicted[0], probabilities, name)
    dots = partial(plot_pair_probabilities, sequence, probabilities, known[0], name)
    yield Section(
        "RNA structures",
        [
            Text("The pretrained model has seen many tRNAs. Their structures are known from experiments."),
            Table("Base pairs", ["RNA", "sensitivity", "PPV"], rows, [False, True, True]),
            picture(draw, "the predicted structure", "Predicted structure; colors show confidence."),
            picture(dots, "a dot plot", "Base-pair probabilities above, the known pairs below."),
            Verbatim("\n".join(lines)),
        ],
    )


def genes(folder: Path) -> Iterator[Section]:
    write_sample("genes", folder)
    (record,) = read_sequences(folder / "bacterium.fa")
    (found,) = ProkaryoticGeneFinder.pretrained().predict([record.sequence])
    known = read_gff3(folder / "true.gff3").transcripts[record.name]
    right = gene_scores({record.name: known}, {record.name: found}).gene.sensitivity
    rows = [("annotated", str(len(known))), ("predicted", str(len(found)))]
    rows.append(("with both ends right", f"{right * len(known):.0f}"))
    tracks = partial(plot_genes, {"annotated": known, "predicted": found}, 0, len(record.sequence))
    alt = "tracks of annotated and of predicted genes"
    counts = Table("A simulated piece of a bacterium", ["", "genes"], rows, [False, True])
    drawing = picture(tracks, alt, "Each box is a gene; its tip shows the strand.", scrolls=True)
    yield Section("Genes", [counts, drawing])


def addresses(folder: Path) -> Iterator[Section]:
    write_sample("tagging", folder)
    data = [read_conll(folder / f"{name}.txt", ("w", "y")) for name in ("train", "test")]
    (x, y), (xt, yt) = ((extract(text_templates(), d.columns, d.lengths), d.sentences("y")) for d in data)
    model = SequenceTagger().fit(x, y)
    text = f"{len(y)} addresses to train, {len(yt)} to test: {model.score(xt, yt):.1%} of tokens right."
    sections = list(training_sections(model))
    yield Section("Addresses", [Text(text), *(block for each in sections for block in each.blocks)])


# --- what learned penalties gain --------------------------------------------------------------------------


def table(title: str, measure: str, rows: list[tuple[str, ...]]) -> Table:
    header = ["penalties", "chosen by", measure, "seconds", "passes over the data"]
    return Table(title, header, rows, [False, False, True, True, True])


def row(penalties: str, method: str, runs: list[tuple[float, float, float]]) -> tuple[str, ...]:
    """The mean score, and the seconds and passes of all runs together."""
    score, seconds, passes = np.mean([r[0] for r in runs]), sum(r[1] for r in runs), sum(r[2] for r in runs)
    return penalties, method, f"{score:.3f}", f"{seconds:.1f}", f"{passes:.0f}"


def draw_sequences(n: int, seed: int) -> tuple[Any, list[list[str]]]:
    y, x = simulate_hmm(n, n_relevant=5, random_state=seed)
    return hmm_attributes(x), [["off" if v == 0 else "on" for v in states] for states in y]


def group_of(weight: str) -> str:
    """Group of a weight of the simulated sequences, by its name."""
    if "->" in weight:
        return "transitions"
    return "relevant" if int(weight[1 : weight.index("=")]) < 5 else "noise"


def simulated_sequences() -> Table:
    test, rows = draw_sequences(1000, 1000), []
    settings: list[tuple[str, str, Any, Any]] = [
        ("one", "grid search", "grid", "single"),
        ("one", "implicit gradient", "implicit", "single"),
        ("3 groups", "implicit gradient", "implicit", group_of),
        ("3 groups", "majorization", "majorize", group_of),
    ]
    for penalties, method, tuning, groups in settings:
        runs = []
        for seed in range(5):
            x, y = draw_sequences(20, seed)
            start = time.perf_counter()
            model = SequenceTagger(tuning=tuning, groups=groups, cv=5, n_jobs=1).fit(x, y)
            runs.append((model.score(*test), time.perf_counter() - start, model.passes_))
        rows.append(row(penalties, method, runs))
    return table("Simulated sequences, 5 of 40 features matter: 20 to train, 5 draws", "labels right", rows)


def tumors() -> Table:
    data, rows = load_breast_cancer(), []
    blocks = ["error" if "error" in name else name.split()[0] for name in data.feature_names]
    settings: list[tuple[str, str, str, Any]] = [
        ("one", "grid search", "grid", "single"),
        ("one", "majorization", "majorize", "single"),
        ("3 groups", "majorization", "majorize", blocks),
    ]
    for penalties, method, tuning, groups in settings:
        runs = []
        for seed in range(10):
            x, xt, y, yt = train_test_split(data.data, data.target, train_size=60, random_state=seed)
            scaler = StandardScaler().fit(x)
            start = time.perf_counter()
            model = Classifier(tuning=tuning, groups=groups, n_jobs=1).fit(scaler.transform(x), y)
            seconds = time.perf_counter() - start
            runs.append((model.score(scaler.transform(xt), yt), seconds, model.passes_))
        rows.append(row(penalties, method, runs))
    return table("Breast tumors: 60 to train, 509 to test, 10 draws", "diagnoses right", rows)


def comparison() -> Iterator[Section]:
    about = (
        "Grid search tries 21 penalties for all features. The other methods learn the penalty, and one for "
        "each group of features if there are groups."
    )
    yield Section("What learned penalties gain", [Text(about), simulated_sequences(), tumors()])


def main() -> None:
    start, page, sections = time.perf_counter(), OUTPUT / "index.html", []
    parts = (
        ("folding RNAs", rnas),
        ("finding genes", partial(genes, OUTPUT / "genes")),
        ("training a tagger", partial(addresses, OUTPUT / "tagging")),
        ("comparing ways to choose penalties", comparison),
    )
    console.print("The first run compiles kernels, which takes about half a minute.")
    for title, part in parts:
        with console.status(title):
            sections += part()
        console.print(f"{time.perf_counter() - start:4.0f} s  {title}: done")
    write_page(page, "structune demo", sections)
    console.print(f"Everything is on one page: {page.resolve()}", soft_wrap=True)


if __name__ == "__main__":
    main()
