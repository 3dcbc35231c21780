"""Text and HTML for people: model cards and comparison pages."""
