"""Files of any kind read as tables or lines of text."""

from emu_core.data.readers.read import encoding_notes, read_table, read_text

__all__ = ["encoding_notes", "read_table", "read_text"]
