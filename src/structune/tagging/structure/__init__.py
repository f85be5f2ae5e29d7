"""The linear chain, its labels and features, and its answers."""
