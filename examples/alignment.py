"""
Align two proteins, column by column with a confidence
======================================================

Human hemoglobin alpha and myoglobin have the same fold and share about a quarter of their residues. The
model that comes with structune aligns them, and says of each column how probable it is.
"""

import matplotlib.pyplot as plt
import numpy as np

from structune import SequenceAligner
from structune.alignment import plot_match_probabilities

HEMOGLOBIN = (
    "VLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHKLRVDPVNFKL"
    "LSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR"
)
MYOGLOBIN = (
    "GLSDGEWQLVLNVWGKVEADIPGHGQEVLIRLFKGHPETLEKFDKFKHLKSEDEMKASEDLKKHGATVLTALGGILKKKGHHEAEIKPLAQSHATKHKIP"
    "VKYLEFISECIIQVLQSKHPGDFGADAQGAMNKALELFRKDMASNYKELGFQG"
)

aligner = SequenceAligner.pretrained()
pair = HEMOGLOBIN, MYOGLOBIN
(found,) = aligner.predict_confidence([pair], posteriors=True)
for start in range(0, len(found.rows[0]), 60):
    print(*(row[start : start + 60] for row in found.rows), "", sep="\n")

# %%
# The probability of each match of two residues, and the alignment of maximum expected accuracy.

plot_match_probabilities(*pair, found.posterior, found.rows)

# %%
# The same along the columns. Gaps have no confidence.

columns = np.arange(len(found.confidence))
plt.figure(figsize=(8, 2.5))
plt.bar(columns, np.nan_to_num(found.confidence), width=1.0)
plt.xlabel("column")
plt.ylabel("probability of the match")
plt.tight_layout()
plt.show()

# %%
# The algorithm of Needleman and Wunsch is a special case, with the scores of a matrix.

classical = SequenceAligner.from_matrix("BLOSUM62", gap_open=11, gap_extend=1)
(rows,) = classical.predict([pair])
print(sum(a == b for a, b in zip(*rows, strict=True)), "identical residues by BLOSUM62,", end=" ")
print(sum(a == b for a, b in zip(*found.rows, strict=True)), "by the learned model")
