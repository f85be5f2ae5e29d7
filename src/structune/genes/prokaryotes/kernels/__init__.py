"""Recursions along the graph of candidates."""
