"""Recursions of state machines."""
