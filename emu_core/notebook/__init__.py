"""Notebooks: comparisons and runs that display themselves, linked maps, and notebooks made from the app's pages."""
