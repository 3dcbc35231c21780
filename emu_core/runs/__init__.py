"""The run folder: status, stored data, checkpoint and model card."""
