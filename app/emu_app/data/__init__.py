"""The library of data sets and the uploads that fill it."""
