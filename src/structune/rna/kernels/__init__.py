"""Recursions over the pairs of a sequence."""
