"""`emu bench emu`: the experiments of Hirota et al. (2020) on a labelled set, with today's peers."""
