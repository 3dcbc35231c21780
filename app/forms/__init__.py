"""Forms that several pages share."""
