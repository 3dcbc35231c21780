"""Messages in the words of an estimator, whose `fit` takes neither columns nor the folder of a run."""

from collections.abc import Iterator
from contextlib import contextmanager

from emu_core.errors import Call, EmuError, Named, in_python


@contextmanager
def in_words_of_fit(**options: str) -> Iterator[None]:
    """Raise an error again in the words of `fit`; also a decorator.

    Args:
        **options: what to say for an option, by its name.
    """
    try:
        yield
    except EmuError as error:
        worded = type(error)(error.message.worded(lambda named: _in_fit(named, options)))
        if str(worded) == str(error):
            raise
        raise worded from error.__cause__


def _in_fit(named: Named, options: dict[str, str]) -> str:
    if isinstance(named, Call):
        return "fit" if named.function == "resume" else in_python(named)  # the run is deleted
    if named.option in options:
        return options[named.option]
    role = named.option.removesuffix("_column")
    return f"rename it to {role}" if role != named.option else in_python(named)
