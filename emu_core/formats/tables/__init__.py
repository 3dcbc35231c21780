"""Tables: their formats, their shapes, and what their columns hold."""
