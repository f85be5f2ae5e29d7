"""
Find genes with introns
=======================

Genes are simulated here: coding sequence of few codons, introns from GT to AG, and between genes bases rich
in A and T. The model is a conditional random field in which every path is a set of valid genes.
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import GeneFinder
from structune.genes import AnnotatedSequence, Transcript, gene_scores

CODONS = ["GCC", "GAG", "CTG", "AAG", "GGC", "ATC", "GTG", "CAG", "TTT", "AAT", "GAT", "ATT"]
SHARES = {"between": [0.35, 0.15, 0.15, 0.35], "intron": [0.3, 0.15, 0.15, 0.4]}


def bases(rng, n, kind="between"):
    return "".join(rng.choice(list("ACGT"), n, p=SHARES[kind]))


def contig(rng, name, n_genes=4):
    """A sequence with genes on its forward strand, each with up to three introns."""
    text, genes = bases(rng, 200), []
    for k in range(n_genes):
        coding = "ATG" + "".join(rng.choice(CODONS, rng.integers(60, 120))) + "TAA"
        cuts = rng.choice(np.arange(20, len(coding) - 20, 25), rng.integers(4), replace=False)
        exons = []
        for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), len(coding)], strict=True):
            if exons:
                text += "GTAAGT" + bases(rng, rng.integers(40, 120), "intron") + "TTTTCAG"
            exons.append((len(text), len(text) + int(b - a)))
            text += coding[a:b]
        genes.append(Transcript(name, "+", tuple(exons), f"{name}.t{k}", f"{name}.{k}"))
        text += bases(rng, rng.integers(150, 400))
    return AnnotatedSequence(name, text, tuple(genes))


rng = np.random.default_rng(0)
train = [contig(rng, f"train{k}") for k in range(8)]
test = [contig(rng, f"test{k}") for k in range(10)]

# %%
# What is found after so many training genes, with two feature sets: words of six bases alone, as in the
# paper of Chen et al. (2009), and the full one, with shorter words, signals and lengths of introns.

known = {c.name: c.transcripts for c in test}
n_genes = [4, 8, 16, 32]
for features in ("paper", "full"):
    found = []
    for n in n_genes:
        finder = GeneFinder(features=features, strands="forward", penalty=10.0).fit(train[: n // 4])
        predicted = dict(zip(known, finder.predict(test), strict=True))
        found.append(gene_scores(known, predicted).exon.f1)
    plt.plot(n_genes, found, "o-", label=features)
plt.xscale("log", base=2)
plt.xlabel("training genes")
plt.ylabel("F1 of exons, both ends right")
plt.legend(title="features")
plt.show()

# %%
# One sequence, as annotated and as predicted by the last model, with the score of each gene.

fig, axes = plt.subplots(figsize=(9, 1.8))
for row, genes in enumerate((predicted["test0"], known["test0"])):
    for gene in genes:
        axes.plot([gene.start, gene.end], [row, row], color="0.6", lw=1)
        axes.broken_barh([(a, b - a) for a, b in gene.exons], (row - 0.2, 0.4))
        if gene.score is not None:
            axes.text(gene.start, row + 0.27, f"{gene.score:.2f}", fontsize=8)
axes.set_yticks([0, 1], ["predicted", "annotated"])
axes.set_ylim(-0.5, 1.5)
axes.set_xlabel("base")
fig.tight_layout()
plt.show()
