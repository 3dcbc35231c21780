"""How a method trains: batches, one readable step, the loop around it."""
