"""Solvers: minimise a loss plus a penalty."""
