"""What several pages draw: runs, reports, tables and buttons."""
