"""The space of nested structures, its features, and its answers."""
