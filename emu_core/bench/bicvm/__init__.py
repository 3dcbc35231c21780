"""`emu bench bicvm`: the experiments of Hermann and Blunsom (2014) on a person's texts, beside the paper's figures."""
