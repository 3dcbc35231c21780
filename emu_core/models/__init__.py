"""Trainable layers on top of an encoder."""
