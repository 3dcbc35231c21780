"""Labelled and unlabelled sentences: reading files, mapping columns, auditing, the demo set."""
