"""Slot-annotated commands to a home's voice assistant, paired across languages by their meaning."""
