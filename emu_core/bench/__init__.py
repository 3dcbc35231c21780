"""The paper's experiments and today's peers, on one labelled set, in one report that a kill does not undo."""
