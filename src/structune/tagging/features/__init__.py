"""Features of sequences: attribute tables and the templates that fill them."""
