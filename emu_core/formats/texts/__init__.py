"""Readers of other texts: dialogues, inference pairs, running text, documents, scored pairs."""
