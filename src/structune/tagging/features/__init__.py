"""Features of sequences: attribute tables, the templates that fill them, and attributes of segments."""
