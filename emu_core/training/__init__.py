"""The parts that all methods share: the description of a method, its job, and the training loop."""
