"""Linear chains of either order and semi-Markov chains: labels and features, and their answers."""
