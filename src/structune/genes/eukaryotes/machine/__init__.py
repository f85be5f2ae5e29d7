"""State machines over nucleotides, whatever they are of."""
