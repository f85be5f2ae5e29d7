"""Recursions over graphs of exons."""
