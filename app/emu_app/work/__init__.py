"""Work outside the page: background processes, the queue of runs, and what is kept of their results."""
