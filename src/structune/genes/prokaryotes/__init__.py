"""Genes of bacteria and archaea: a graph of candidates."""
