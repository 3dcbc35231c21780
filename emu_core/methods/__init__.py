"""The training methods: a module for each, and the registry that lists them."""
