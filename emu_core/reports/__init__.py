"""Text and HTML for people: model cards, comparison pages and reports of benchmarks."""
