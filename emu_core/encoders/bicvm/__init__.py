"""BiCVM, a vector for each word: `bicvm`."""
