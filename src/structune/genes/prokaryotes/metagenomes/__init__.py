"""Genes on contigs of many organisms: word frequencies by GC content, with weights fitted to pieces."""
