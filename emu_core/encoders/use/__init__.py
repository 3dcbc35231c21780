"""The Universal Sentence Encoder: `use`."""
