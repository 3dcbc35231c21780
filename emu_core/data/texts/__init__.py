"""Other texts to learn from or to measure on: dialogues, inference pairs, running text, documents, scored pairs."""
