"""Linear chains of either order, their labels and features, and their answers."""
