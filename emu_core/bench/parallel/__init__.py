"""Shared by the benchmarks of encoders trained from scratch: texts, training, and the tables of speed and costs."""
