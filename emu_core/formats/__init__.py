"""Files of other people and tools: from a path, a folder, an archive or an object to frames, and what was noticed."""
