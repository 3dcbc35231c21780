"""Encoders as folders for other programs, one file a format; `verbs.export` is the door."""
