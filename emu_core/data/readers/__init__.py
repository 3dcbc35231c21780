"""Files of any kind read as tables or lines of text; every reader goes through `limits`."""
