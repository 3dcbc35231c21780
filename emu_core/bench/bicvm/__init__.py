"""`emu bench bicvm`: the experiments of Hermann and Blunsom (2014) on a user's texts, with the paper's figures."""
