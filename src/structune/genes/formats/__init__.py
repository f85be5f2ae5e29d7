"""Files of genomes and genes."""
