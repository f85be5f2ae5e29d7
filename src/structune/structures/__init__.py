"""Structures: output spaces with a linear score, and the exact questions they answer."""
