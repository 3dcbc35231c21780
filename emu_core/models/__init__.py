"""Trainable parts beside the encoder."""
