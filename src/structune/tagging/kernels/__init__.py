"""Recursions along a chain, and scores of its tokens."""
