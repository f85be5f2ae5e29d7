"""Numbers that the model and the help of its commands share; nothing is imported here."""

# of two strands, before any pair, at 1 M: training/rna_strands.py
INITIATION = -1.2
