"""Genes with introns: a state machine over nucleotides."""
