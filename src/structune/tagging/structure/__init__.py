"""Linear and semi-Markov chains: labels and features, and their answers."""
