"""What the benchmarks of encoders trained from nothing share: texts, cells, training, results, tables."""
