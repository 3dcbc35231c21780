"""Readers of files of any kind as tables or lines of text, within the limits of `limits`."""
