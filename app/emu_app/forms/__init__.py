"""Forms that describe a run, before it is started."""
