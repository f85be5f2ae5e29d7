"""The machine of genes: its states, its weights, and genes as paths."""
