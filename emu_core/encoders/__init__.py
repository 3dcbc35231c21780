"""Sentence encoders, which `registry.load_encoder` opens."""
