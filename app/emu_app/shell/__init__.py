"""The foundations of every page: the address, the users, the facts about runs, and the widgets."""
