"""The softmax."""
