"""Orders of documents with penalties."""
