"""Files of sequences and of alignments."""
