"""What others do with the same encoder and labels today, as systems of Emu's benchmark."""
