"""Drawings of structures, and dot plots."""
