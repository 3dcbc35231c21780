"""The errors a user can meet: each message is one sentence that says what is wrong and how to fix it."""


class EmuError(Exception):
    """Base of every error that is the input's or the machine's fault and not a bug in emu_core."""

    def _render_traceback_(self) -> list[str]:
        """Return what Jupyter shows: the sentence, without the lines of code on the way to it."""
        return [f"{type(self).__name__}: {self}"]


class DataError(EmuError):
    """A file, a column or a labelled set can't be used as it is."""


class EncoderError(EmuError):
    """An encoder is unknown, not installed, or its files are not what they should be."""


class TrainingError(EmuError):
    """Training can't start or go on: too little data, a loss that is not a number."""


class RunError(EmuError):
    """A run folder is missing, unfinished, or not one that emu_core wrote."""


class CancelledError(EmuError):
    """The user stopped the run."""
