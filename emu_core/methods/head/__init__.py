"""Head, ours and the default: a head on the frozen encoder moves embeddings towards probable intents."""
