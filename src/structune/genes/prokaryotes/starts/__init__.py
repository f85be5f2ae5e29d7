"""Where genes begin: start codons chosen by signals that are learned from a genome without knowing its starts."""
