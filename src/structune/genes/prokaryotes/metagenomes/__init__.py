"""Genes of contigs of many organisms: words by the share of G and C, and scales that pieces teach."""
