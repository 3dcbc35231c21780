"""Sentences with an intent and a language: read, mapped, audited, chosen from."""

from emu_core.data.labelled.sets import COLUMNS, LabelledSet, UnlabelledSet, read_unlabelled, unlabelled_from

__all__ = ["COLUMNS", "LabelledSet", "UnlabelledSet", "read_unlabelled", "unlabelled_from"]
