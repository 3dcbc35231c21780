"""FMDA (Wu et al. 2022) and its baseline: layers over a frozen encoder split a sentence into its parts."""
