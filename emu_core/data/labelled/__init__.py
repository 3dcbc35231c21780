"""Labelled sentences: reading, mapping, auditing and selecting them."""

from emu_core.data.labelled.columns import LABELLED_COLUMNS
from emu_core.data.labelled.sets import LabelledSet, UnlabelledSet, unlabelled_from

__all__ = ["LABELLED_COLUMNS", "LabelledSet", "UnlabelledSet", "unlabelled_from"]
