"""Genes with introns: a graph of their exons."""
