"""The Evidence page: `emu bench emu` chosen, started, followed and read."""
