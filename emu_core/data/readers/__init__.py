"""Files of any kind read as tables or lines of text."""

from emu_core.data.readers.tables import read_table, read_text

__all__ = ["read_table", "read_text"]
