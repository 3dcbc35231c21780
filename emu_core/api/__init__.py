"""The functions that the command, the app and the library call, one file a verb."""
