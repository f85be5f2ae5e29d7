"""Recursions along chains and segments, and scores of tokens."""
