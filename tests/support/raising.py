"""An error raised in another process, which imports nothing but this and the errors."""

from multiprocessing.connection import Connection

from emu_core.errors import Fix, TrainingError

RAN_OUT = TrainingError("memory ran out; a batch of 32 fits: ", Fix("batch_size", 32))


def raise_and_send(sender: Connection) -> None:
    """Raise the error, and send what is caught."""
    try:
        raise RAN_OUT
    except TrainingError as error:
        sender.send(error)
