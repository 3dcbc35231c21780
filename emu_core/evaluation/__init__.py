"""What an encoder is worth: arrays in, figures out."""
