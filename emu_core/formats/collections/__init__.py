"""Labelled sentences as other tools and data sets store them, recognised by their content."""
