"""What the command and the library do, one file a verb."""
