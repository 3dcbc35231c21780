"""Texts to train on: translations, dialogues, inference pairs, running text."""
