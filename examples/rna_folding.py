"""
Fold an RNA, and see how sure the model is
==========================================

The transfer RNA of yeast for phenylalanine, whose structure is known from crystals, folded by the model
that comes with structune.
"""

import numpy as np

from structune import RNAFolder
from structune.rna import base_pair_scores, plot_pair_probabilities, plot_structure

SEQUENCE = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
KNOWN = "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))...."

folder = RNAFolder.pretrained()
(predicted,) = folder.predict([SEQUENCE])
scores = base_pair_scores([KNOWN], [predicted]).pooled
print(SEQUENCE, KNOWN, predicted, sep="\n")
print(f"sensitivity {scores.sensitivity:.2f}, PPV {scores.ppv:.2f}")

# %%
# The colour of a base is the probability of being as drawn.

probabilities = folder.pair_probabilities(SEQUENCE)
plot_structure(SEQUENCE, predicted, probabilities, "yeast tRNA-Phe")

# %%
# All pairs, with their probabilities; the known ones are marked.

plot_pair_probabilities(SEQUENCE, probabilities, KNOWN, "yeast tRNA-Phe")

# %%
# There is more than one structure: samples follow the probabilities. Here are the five that are drawn most
# often, of a thousand.

drawn, counts = np.unique(folder.sample([SEQUENCE], 1000, random_state=0)[0], return_counts=True)
for k in np.argsort(-counts)[:5]:
    print(drawn[k], counts[k])

# %%
# Something may be known of the structure beforehand, such as that the first seven bases do not pair.

print(*folder.predict([SEQUENCE], constraints=["x" * 7 + "." * (len(SEQUENCE) - 7)]))
