"""The space of alignments, its features, and its answers."""
