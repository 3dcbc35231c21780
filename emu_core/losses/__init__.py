"""Losses: tensors in, scalar out; one file a loss, none holds a model."""
