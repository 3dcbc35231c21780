"""`emu bench fmda`: FMDA's experiments on a parallel set with slots, beside the paper's figures."""
