"""Sentence encoders, a folder or a file for each; `registry.load_encoder` opens them."""
