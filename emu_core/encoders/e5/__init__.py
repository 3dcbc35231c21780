"""Multilingual E5, small: `e5-small`."""
