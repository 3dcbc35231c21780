"""The parts of the workbench: maps, inspector and drawer."""
