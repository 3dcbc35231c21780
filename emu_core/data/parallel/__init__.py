"""Sentences and their translations."""
