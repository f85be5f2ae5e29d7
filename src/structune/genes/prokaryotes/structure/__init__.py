"""Candidates, their features, and the graph of those that may lie beside each other."""
