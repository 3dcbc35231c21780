"""A format of data that Emu does not know, as another package would add it."""
