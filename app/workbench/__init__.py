"""The rooms of the workbench: maps, inspector, and what its drawer holds."""
