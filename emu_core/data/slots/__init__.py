"""Utterances with annotated slots, and pairs of them."""
