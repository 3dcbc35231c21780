"""Losses: functions from tensors to a scalar, without models."""
