"""Gene finding across bacteria and archaea that share strength along their taxonomy (Gornitz et al. 2011).

    python benchmarks/multitask_genes.py                 all sizes and draws: some hours
    python benchmarks/multitask_genes.py --sizes 10 25   some of the sizes
    python benchmarks/multitask_genes.py --draws 2       the first draws
    python benchmarks/multitask_genes.py --quick         four organisms, one draw, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). Genomes are cut into pieces
of about five genes. Of each genome the first four fifths give training pieces, at random until there are
enough genes, and the last fifth the first 300 genes or so to test on. "hierarchical" is the
`MultitaskEstimator` along the tree, "union" the model of its root, "fine-tuned" the models of the organisms
around that of the union, "independent" each organism alone. All choose from the same factors of the
precisions by the held-out loss of four folds, and hierarchical also gamma. Scores are F1 of stop codons, and
of whole genes. The intervals of differences in the mean over organisms are bootstraps over draws. A run goes
on where the results end.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from common import folder_for, mean_difference, parser_of, write
from structune import MultitaskEstimator, ProkaryoticGeneFinder, TaskTree
from structune.genes import (
    PROKARYOTES,
    AnnotatedSequence,
    OrfRules,
    Transcript,
    gene_scores,
    load_genes,
    stop_codons,
)
from structune.genes.prokaryotes.examples import cut_genomes
from structune.running import Run

NAME = "multitask_genes"
QUICK_TREE = {"life": {"bacteria": ["e_coli", "b_subtilis"], "halobacteria": ["h_salinarum", "n_pharaonis"]}}
SIZES, DRAWS = (10, 25, 50, 100, 250), 5
GAMMAS, FACTORS, FOLDS = (0.0, 0.5, 0.9, 1.0), (0.3, 1.0, 3.0), 4
METHODS = ("independent", "union", "fine-tuned", "hierarchical")
LEVELS = ("stop", "gene")
TRAIN_SHARE, TEST_GENES = 0.8, 300
Pieces = list[AnnotatedSequence]


# --- data -------------------------------------------------------------------------------------------------


def pieces_of(organism: str) -> tuple[Pieces, Pieces]:
    """To train and to test on."""
    examples = cut_genomes(load_genes(organism), OrfRules())
    pieces = [
        AnnotatedSequence(f"{organism}.{k}", text, tuple(named(f"{organism}.{k}", genes)))
        for k, (text, genes) in enumerate(zip(examples.sequences, examples.genes, strict=True))
    ]
    cut = int(TRAIN_SHARE * len(pieces))
    return pieces[:cut], first(pieces[cut:], TEST_GENES)


def named(contig: str, genes: Sequence[tuple[int, int, str]]) -> list[Transcript]:
    return [Transcript(contig, s, ((a, b),), f"{contig}.{a}", f"{contig}.{a}") for a, b, s in genes]


def first(pieces: Pieces, n_genes: int) -> Pieces:
    """As many as have so many genes."""
    n = np.cumsum([len(piece.transcripts) for piece in pieces])
    return pieces[: int(np.searchsorted(n, n_genes)) + 1]


def drawn(pieces: Pieces, n_genes: int, seed: int) -> tuple[Pieces, list[list[Transcript]]]:
    order = np.random.default_rng(seed).permutation(len(pieces))
    chosen = first([pieces[k] for k in order], n_genes)
    return chosen, [list(piece.transcripts) for piece in chosen]


# --- methods ----------------------------------------------------------------------------------------------


def fitted(tree: TaskTree, gammas: Sequence[float], data: Mapping[str, Any]) -> MultitaskEstimator:
    finder, run = ProkaryoticGeneFinder(n_jobs=1), Run(max_iterations=300, tolerance=1e-3)
    return MultitaskEstimator(finder, tree, gammas=gammas, factors=FACTORS, cv=FOLDS, run=run).fit(data)


def models(tree: TaskTree, data: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The model of each organism by each method, and what was chosen and how long it took."""
    start = time.perf_counter()
    alone = {task: fitted(TaskTree.from_nested([task]), [0.0], {task: data[task]}) for task in data}
    flat = fitted(TaskTree.from_nested({tree.root: list(data)}), [1.0], data)
    middle = time.perf_counter()
    deep = fitted(tree, GAMMAS, data)
    seconds = time.perf_counter() - middle
    found = {
        "independent": {task: alone[task].model(task) for task in data},
        "union": dict.fromkeys(data, deep.model(tree.root)),
        "fine-tuned": {task: flat.model(task) for task in data},
        "hierarchical": {task: deep.model(task) for task in data},
    }
    chosen = {node: [told["gamma"], told["factor"]] for node, told in deep.nodes_.items()}
    return found, {
        "chosen": chosen,
        "seconds": round(seconds, 1),
        "seconds of others": round(middle - start, 1),
    }


def accuracy(model: ProkaryoticGeneFinder, test: Pieces) -> list[float]:
    """F1 at each of `LEVELS`."""
    true = {piece.name: piece.transcripts for piece in test}
    found = dict(zip(true, model.predict(test), strict=True))
    return [
        gene_scores(stop_codons(true), stop_codons(found)).exon.f1,
        gene_scores(true, found).exon.f1,
    ]


# --- the run ----------------------------------------------------------------------------------------------


def run(tree: TaskTree, sizes: Sequence[int], n_draws: int, file: Path) -> None:
    result: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"runs": {}}
    genomes = {organism: pieces_of(organism) for organism in tree.leaves}
    for draw in range(n_draws):
        for size in sizes:
            key = f"{size} genes, draw {draw}"
            if key in result["runs"]:
                continue
            data = {task: drawn(train, size, draw) for task, (train, _) in genomes.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, told = models(tree, data)
            scores = {
                method: {task: accuracy(model, genomes[task][1]) for task, model in of.items()}
                for method, of in found.items()
            }
            result["runs"][key] = {"size": size, "draw": draw, "f1": scores, **told}
            result |= summary(list(result["runs"].values()))
            result.pop("machine", None)
            write(str(file.with_suffix("")), result)
            print(key, {m: [round(100 * v, 1) for v in means(of)] for m, of in scores.items()}, flush=True)
    figure(result, file.with_suffix(".png"))


def means(of: Mapping[str, Sequence[float]]) -> list[float]:
    """Over organisms, at each level."""
    return [float(v) for v in np.mean(list(of.values()), axis=0)]


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By size: means over organisms and draws, and what hierarchical gains over each method."""
    found: dict[str, Any] = {"sizes": {}}
    for size in sorted({run["size"] for run in runs}):
        own = [{m: means(of) for m, of in run["f1"].items()} for run in runs if run["size"] == size]
        by_method = {m: np.array([run[m] for run in own]) for m in METHODS}
        deep = by_method["hierarchical"]
        found["sizes"][str(size)] = {
            "draws": len(own),
            "f1": {m: dict(zip(LEVELS, v.mean(axis=0).tolist(), strict=True)) for m, v in by_method.items()},
            "hierarchical minus": {
                m: {level: mean_difference(v[:, k], deep[:, k]) for k, level in enumerate(LEVELS)}
                for m, v in by_method.items()
                if m != "hierarchical"
            },
        }
    return found


def figure(result: Mapping[str, Any], path: Path) -> None:
    """F1 by number of training genes: the mean over organisms, every draw a point."""
    figure, panels = plt.subplots(1, len(LEVELS), figsize=(9, 4), layout="constrained")
    colors = dict(zip(METHODS, ("#d55e00", "#009e73", "#0072b2", "#000000"), strict=True))
    sizes = [int(size) for size in result["sizes"]]
    for k, (level, axes) in enumerate(zip(LEVELS, panels, strict=True)):
        for method in METHODS:
            mean = [100 * result["sizes"][str(size)]["f1"][method][level] for size in sizes]
            axes.plot(sizes, mean, "o-", color=colors[method], label=method, markersize=4)
            for run in result["runs"].values():
                axes.plot(
                    run["size"], 100 * means(run["f1"][method])[k], ".", color=colors[method], alpha=0.3
                )
        axes.set(xscale="log", xticks=sizes, xticklabels=sizes, xlabel="training genes of each organism")
        axes.minorticks_off()
        axes.set(title={"stop": "genes, by their stop codons", "gene": "genes, by both ends"}[level])
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="F1, mean over organisms (%)")
    panels[1].legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, choices=SIZES, default=list(SIZES))
    parser.add_argument("--draws", type=int, default=DRAWS)
    arguments = parser.parse_args()
    folder, sizes, draws = folder_for(NAME, arguments.quick), arguments.sizes, arguments.draws
    tree = TaskTree.from_nested(QUICK_TREE if arguments.quick else PROKARYOTES)
    run(
        tree,
        SIZES[:2] if arguments.quick else sizes,
        1 if arguments.quick else draws,
        folder / f"{NAME}.json",
    )
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
