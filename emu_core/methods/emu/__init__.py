"""Emu (Hirota et al. 2020), its ablations and its baselines: they fine-tune an encoder on labels."""
