"""Parts that several pages draw: runs, reports, tables and buttons."""
