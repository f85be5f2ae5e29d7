"""Files of RNA sequences and structures."""
