"""LASER: `laser`."""
