"""The Pretrain page's parts."""
