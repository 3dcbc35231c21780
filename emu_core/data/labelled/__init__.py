"""Labelled sentences: reading, mapping, auditing and selecting them."""

from emu_core.data.labelled.columns import COLUMNS
from emu_core.data.labelled.load import read_unlabelled
from emu_core.data.labelled.sets import LabelledSet, UnlabelledSet, unlabelled_from

__all__ = ["COLUMNS", "LabelledSet", "UnlabelledSet", "read_unlabelled", "unlabelled_from"]
