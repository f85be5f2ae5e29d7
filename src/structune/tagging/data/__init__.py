"""Data sets, and a simulator."""
