"""Utterances with annotated slots, and pairs made of them."""
