"""A method from outside: a linear map over a frozen encoder's vectors, trained to tell intents apart."""
