"""`emu bench dual-encoder`: the experiments of Chidambaram et al. (2019) on a user's texts, with the paper's."""
