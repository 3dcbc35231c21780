"""The multi-task dual encoder (Chidambaram et al. 2019), trained from scratch on parallel text."""
