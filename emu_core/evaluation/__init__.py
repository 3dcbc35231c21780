"""The evaluation of sentence encoders: arrays in, figures out."""
