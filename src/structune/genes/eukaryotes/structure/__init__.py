"""The graph of exons: its nodes, its weights, and genes as paths."""
