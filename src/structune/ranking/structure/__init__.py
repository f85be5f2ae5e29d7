"""The space of orders of documents, and its answers."""
