"""BiCVM (Hermann and Blunsom 2014): a vector for each word, trained from scratch on parallel text."""
