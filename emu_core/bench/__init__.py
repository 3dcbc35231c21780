"""The experiments of the papers and today's peers on a user's data; each benchmark is a run that can be resumed."""
