"""`emu bench dual-encoder`: the experiments of Chidambaram et al. (2019) on a person's texts, beside the paper's."""
