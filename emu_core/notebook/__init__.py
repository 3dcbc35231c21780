"""What Emu shows in Jupyter: comparisons and runs that draw themselves, linked maps, notebooks of the app's pages."""
