"""Transformers of sentence-transformers: `hf:NAME_OR_PATH`."""
