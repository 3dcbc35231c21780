"""Labelled and unlabelled sentences: their sets, the audit, repeats, languages, the demo set."""
