"""Matrices of features, and the structures over their rows."""
