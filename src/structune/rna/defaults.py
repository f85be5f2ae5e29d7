"""Numbers that the model and the help of its commands share; nothing is imported here."""

# of two strands, before any pair, at 1 M: training/rna_strands.py
INITIATION = -0.5
# of the structure of an alignment: benchmarks/rna_alignments.py
CONSENSUS_THRESHOLD = 0.35
