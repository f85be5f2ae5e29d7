"""
Genes of a bacterium that nobody annotated
==========================================

What genes of thirteen bacteria and archaea have in common comes with structune. It finds the genes of a new
genome, too, and is adapted to it by learning from what it finds there. The genome here is simulated, with its
own choice of codons, so that all genes are known.
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import MetagenomeFinder, ProkaryoticGeneFinder, adapt
from structune.genes import AnnotatedSequence, Transcript, gene_scores, stop_codons

COMPLEMENT = str.maketrans("ACGT", "TGCA")
rng = np.random.default_rng(0)
codons = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT" if a + b + c not in ("TAA", "TAG", "TGA")]
usage = rng.dirichlet(np.full(len(codons), 1.0))


def bases(n):
    return "".join(rng.choice(list("ACGT"), n))


def contig(name, n_genes=250):
    """A sequence with genes on both strands, most behind a ribosome-binding site."""
    text, genes = bases(100), []
    for k in range(n_genes):
        gene = rng.choice(["ATG", "GTG"], p=[0.9, 0.1])
        gene += "".join(rng.choice(codons, rng.integers(40, 250), p=usage)) + "TAA"
        site = ("AGGAGG" if rng.random() < 0.8 else bases(6)) + bases(7)
        strand = str(rng.choice(["+", "-"]))
        start = len(text) + len(site) * (strand == "+")
        text += site + gene if strand == "+" else (site + gene).translate(COMPLEMENT)[::-1]
        genes.append(Transcript(name, strand, ((start, start + len(gene)),), f"{name}.t{k}", f"{name}.{k}"))
        text += bases(rng.integers(20, 250))
    return AnnotatedSequence(name, text, tuple(genes))


genome = contig("new")
known = {"new": genome.transcripts}

# %%
# The nearest model of a tree of the thirteen, what they have in common, and the adapted one.

nearest = ProkaryoticGeneFinder.pretrained([genome])
common = MetagenomeFinder.pretrained([genome])
adapted = adapt(common, [genome])

for k, (name, finder) in enumerate({"nearest": nearest, "in common": common, "adapted": adapted}.items()):
    genes = finder.predict([genome])[0]
    stops = gene_scores(stop_codons(known), stop_codons({"new": genes})).gene.f1
    whole = gene_scores(known, {"new": genes}).gene.f1
    plt.bar(np.arange(2) + 0.25 * k, [stops, whole], width=0.22, label=name)
plt.xticks(np.arange(2) + 0.25, ["stop codon right", "both ends right"])
plt.ylabel("F1")
plt.legend(loc="lower right")
plt.show()

# %%
# Each gene has a probability.

right = {t.exons for t in genome.transcripts}
probabilities = [[t.score for t in genes if (t.exons in right) == is_right] for is_right in (True, False)]
plt.hist(probabilities, bins=np.linspace(0, 1, 21), stacked=True, label=["both ends right", "else"])
plt.xlabel("probability of the gene")
plt.ylabel("predicted genes")
plt.legend()
plt.show()
