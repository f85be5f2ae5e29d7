"""Solvers that minimize a loss plus a penalty."""
