"""What Emu shows in Jupyter: a comparison that draws itself."""
