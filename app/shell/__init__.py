"""What every page stands on: the address, the users, the facts about runs, and the widgets."""
