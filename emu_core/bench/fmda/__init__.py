"""`emu bench fmda`: FMDA's experiments on a parallel set with slots, with the paper's figures."""
