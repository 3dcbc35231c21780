"""Multilingual sentence encoders, one file an encoder; `registry.load_encoder` is the door."""
