"""Recursions over the cells of two sequences."""
