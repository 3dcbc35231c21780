"""What the benchmarks of encoders trained from scratch share: texts, training, and the tables of speed and costs."""
