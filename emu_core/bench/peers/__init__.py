"""Today's peers with the same encoder and labels, as systems of Emu's benchmark."""
