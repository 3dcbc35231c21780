"""Other texts for training and evaluation: dialogues, inference pairs, running text, documents, scored pairs."""
