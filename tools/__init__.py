"""Commands that keep the repository: pictures, pages, notebooks and notices that are generated."""
