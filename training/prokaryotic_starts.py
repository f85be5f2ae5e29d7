"""Fits how much each signal counts where `adapt` learns which start codons genes have; prints the weights.

    python training/prokaryotic_starts.py            some minutes
    python training/prokaryotic_starts.py --quick    two genomes

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

Of six genomes, in which the starts of 95 to 769 genes were verified by experiment, the genes are found by the
nearest node of the pretrained tree, which has seen their annotation, and their signals are learned without
looking at starts. Then the weights of the signals are fitted to the verified starts, by the probability of
each among those of its gene; genomes count by the square root of their genes. Weights are drawn to those in
use. Printed are shares of verified starts that are found, of genes that are: with the weights in use, and
with weights that were fitted to the other genomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from asking import asked_to_be_quick
from numpy.typing import NDArray
from scipy.optimize import minimize

from structune import ProkaryoticGeneFinder
from structune.genes import load_genes, load_verified_genes
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.starts import WEIGHTS, Choices, learn_starts

GENOMES = ("e_coli", "m_tuberculosis", "synechocystis", "h_salinarum", "n_pharaonis", "a_pernix")
STRENGTH = 1.0  # of the pull to the weights in use
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """Candidates of genes whose starts were verified."""

    parts: FloatArray
    gene: NDArray[np.int64]
    is_start: NDArray[np.bool_]

    def scores(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of candidates, and the highest of each gene."""
        scores = self.parts @ weights
        highest = np.full(self.gene.max() + 1, -np.inf)
        np.maximum.at(highest, self.gene, scores)
        return scores, highest

    def share_found(self, weights: FloatArray) -> float:
        scores, highest = self.scores(weights)
        return float(np.mean(scores[self.is_start] >= highest))

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Of the probabilities of starts among those of their genes."""
        scores, highest = self.scores(weights)
        odds = np.exp(scores - highest[self.gene])
        sums = np.bincount(self.gene, odds)
        value = np.sum(highest + np.log(sums)) - scores[self.is_start].sum()
        gradient = (odds / sums[self.gene]) @ self.parts - self.parts[self.is_start].sum(axis=0)
        factor = 1.0 / np.sqrt(len(sums))
        return factor * value, factor * gradient


def main() -> None:
    names = GENOMES[3:5] if asked_to_be_quick(__doc__) else GENOMES
    known = {name: known_of(name) for name in names}
    used = np.array(list(WEIGHTS.values()))
    for name in names:
        others = fitted([known[other] for other in names if other != name], used)
        shares = [known[name].share_found(weights) for weights in (used, others)]
        print(f"{name}: {shares[0]:.4f}, by weights fitted to the others {shares[1]:.4f}", flush=True)
    for name, weight in zip(WEIGHTS, fitted(list(known.values()), used), strict=True):
        print(f"{name}: {weight:.2f}, in use {WEIGHTS[name]}")


def known_of(name: str) -> Known:
    genome = max(load_genes(name), key=lambda each: len(each.sequence))
    finder = ProkaryoticGeneFinder.pretrained([genome])
    letters = [encode_letters(genome.sequence, name)]
    shard = finder.graph_.of_letters(letters, is_open=False)
    chosen, _ = finder.graph_.best(finder.coef_, shard)
    model = learn_starts(shard, chosen, letters)
    assert model is not None  # whole genomes have enough genes
    of = Choices.of(shard, chosen)
    verified = {(t.start, t.end, t.strand == "-") for t in load_verified_genes(name)}
    places = zip(*shard.bounds[of.places].T.tolist(), shard.reverse[of.places].tolist(), strict=True)
    is_start = np.array([place in verified for place in places])
    inside = np.isin(of.gene, of.gene[is_start])
    _, gene = np.unique(of.gene[inside], return_inverse=True)
    parts = np.column_stack(list(model.parts(of, model.class_odds(of)).values()))
    print(f"{name}: {is_start.sum()} of {len(verified)} verified genes found", flush=True)
    return Known(parts[inside], gene, is_start[inside])


def fitted(known: list[Known], used: FloatArray) -> FloatArray:
    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        found = [each.loss(weights) for each in known]
        away = weights - used
        value = sum(value for value, _ in found) + 0.5 * STRENGTH * away @ away
        return value, np.sum([gradient for _, gradient in found], axis=0) + STRENGTH * away

    return np.asarray(minimize(objective, used, jac=True, method="L-BFGS-B").x)


if __name__ == "__main__":
    main()
