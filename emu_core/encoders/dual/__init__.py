"""The dual encoder over hashed words: `dual-encoder`."""
