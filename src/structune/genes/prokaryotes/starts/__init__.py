"""Where genes begin: start codons, by signals that a genome teaches without anyone knowing its starts."""
