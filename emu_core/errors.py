"""The errors a user can meet: each message is one sentence that says what is wrong and how to fix it.

The command, the app and Python have different names for an option. So a message holds the options and functions that
it names as data, between its texts, and each face puts them into its own words:

    raise TrainingError("memory ran out; a smaller batch fits: ", Fix("batch_size", 32))

That ends in "batch_size=32" in Python, in the option's flag and 32 in the command, and in "set Batch size to 32" in the
app. Nothing in a text is replaced, so that it may quote whatever a user typed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, Union

Value = str | float | bool | None | tuple[str | float, ...]


@dataclass(frozen=True)
class Fix:
    """An option that a message names, and the value to give it, if any.

    Attributes:
        option: the name of the parameter or the setting in Python, such as "batch_size".
        value: None only names the option.
    """

    option: str
    value: Value = None


@dataclass(frozen=True)
class Call:
    """A function of the library that a message names, which is also a verb of the command or a page of the app.

    Attributes:
        function: its name in emu_core, which is also the verb's, such as "resume".
        argument: a folder or a file; "" only names the function.
    """

    function: str
    argument: str = ""


Named = Fix | Call
_OF_READING = (
    "mapping",
    "language",
    "merge_intents",
    "no_intents",
    "real_intents",
    "missing",
    "intents",
)  # in Python, fields of `Reading`
_Words = Callable[[Named], str]
_Part = Union[str, Fix, Call, "Message", "EmuError"]


@dataclass(frozen=True, init=False)
class Message:
    """A sentence for the user: texts, with the options and functions between them.

    Attributes:
        parts: in the order of the sentence; no two texts in a row. Messages and errors among those it is made of are
            taken apart.
    """

    parts: tuple[str | Named, ...]

    def __init__(self, *parts: _Part) -> None:
        joined: list[str | Named] = []
        for part in parts:
            for inner in _parts_of(part):
                if isinstance(inner, str) and joined and isinstance(joined[-1], str):
                    joined[-1] += inner
                elif inner != "":
                    joined.append(inner)
        object.__setattr__(self, "parts", tuple(joined))

    def worded(self, words: _Words) -> str:
        """Return the sentence in the words of a face."""
        return "".join(part if isinstance(part, str) else words(part) for part in self.parts)

    def __str__(self) -> str:
        """Return the sentence as Python and notebooks show it."""
        return self.worded(in_python)

    def __bool__(self) -> bool:
        """Return whether it says anything."""
        return bool(self.parts)

    def to_json(self) -> str | list[str | dict[str, object]]:
        """Return the text or, if options or functions are named, the list of parts."""
        if all(isinstance(part, str) for part in self.parts):
            return str(self)
        return [part if isinstance(part, str) else dict(vars(part)) for part in self.parts]

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Read what `to_json` returned. Raises ValueError if it is anything else."""
        return cls(*map(_part, values if isinstance(values, list) else [values]))


class EmuError(Exception):
    """Base of every error that is the input's or the machine's fault and not a bug in emu_core.

    It is made of the parts of its message: texts, `Fix` and `Call`, and other errors or messages.

    Examples:
        >>> import emu_core
        >>> try:
        ...     emu_core.train("demo", out="runs/other", method="emu", learning_rate=-1)
        ... except emu_core.EmuError as error:
        ...     print(f"{error} ({error.fix})")
        learning_rate must be a number above 0, not -1 (Fix(option='learning_rate', value=None))
    """

    def __init__(self, *parts: _Part) -> None:
        self.message = Message(*parts)
        super().__init__(*self.message.parts)

    @property
    def fix(self) -> Named | None:
        """The remedy as data: the first option or function that the message names, None if it names none."""
        return next((part for part in self.message.parts if not isinstance(part, str)), None)

    def __str__(self) -> str:
        """Return the message as Python and notebooks show it."""
        return str(self.message)

    def _render_traceback_(self) -> list[str]:
        """Return what Jupyter shows: the sentence, without the lines of code on the way to it."""
        return [f"{type(self).__name__}: {self}"]


class DataError(EmuError):
    """A file, a column or a labelled set can't be used as it is.

    Examples:
        >>> import emu_core
        >>> try:
        ...     emu_core.read_labelled("missing.csv")
        ... except emu_core.DataError as error:
        ...     print(error)
        missing.csv: no such file; check the path
    """


class InputError(DataError, ValueError):
    """An argument can't be used: a `ValueError`, as libraries such as scikit-learn expect.

    Examples:
        >>> import emu_core
        >>> try:
        ...     emu_core.IntentClassifier(threshold=2).fit(["Where is the pool?"], ["pool"])
        ... except ValueError as error:
        ...     print(type(error).__name__, error)
        InputError the threshold 2 is no cosine; choose one from -1 (never) to 1
    """


class EncoderError(EmuError):
    """An encoder is unknown, not installed, or its files are not what they should be.

    Examples:
        >>> import emu_core
        >>> try:
        ...     emu_core.load_encoder("hf:no/such/folder")
        ... except emu_core.EncoderError as error:
        ...     print(error)
        'no/such/folder' is neither a folder here nor a public model of the hub; see https://huggingface.co/models
    """


class TrainingError(EmuError):
    """Training can't start or go on: too little data, a loss that is not a number.

    Examples:
        >>> import emu_core
        >>> try:
        ...     emu_core.configure("emu", epochs=0)
        ... except emu_core.TrainingError as error:
        ...     print(error)
        epochs must be a whole number, 1 or more, not 0
    """


class RunError(EmuError):
    """A run folder is missing, unfinished, or not one that emu_core wrote.

    Examples:
        >>> import emu_core
        >>> try:
        ...     emu_core.export("runs/none", "encoder")
        ... except emu_core.RunError as error:
        ...     print(error)
        runs/none is not a run: it has no status.json
    """


class CancelledError(EmuError):
    """The user stopped the run.

    Examples:
        >>> import emu_core
        >>> def stop(status):
        ...     raise KeyboardInterrupt
        >>> try:
        ...     emu_core.train("demo", out="runs/stopped", on_progress=stop)
        ... except emu_core.CancelledError as error:
        ...     print(error.fix)
        Call(function='resume', argument='runs/stopped')
    """


def in_python(named: Named) -> str:
    """Return an option or a function as Python names it: batch_size=32, emu_core.resume('runs/a')."""
    if isinstance(named, Call):
        return f"emu_core.{named.function}" + (f"({named.argument!r})" if named.argument else "")
    role = named.option.removesuffix("_column")
    is_read, is_column = named.option in _OF_READING, role != named.option
    if named.value is None and not (is_read or is_column):
        return named.option
    value = repr(list(named.value) if isinstance(named.value, tuple) else named.value)
    argument = f"{role}={'...' if named.value is None else value}"
    if is_column:
        argument = f"mapping=ColumnMapping({argument})"
    return f"reading=Reading({argument})" if is_read or is_column else argument


def in_words(named: Named) -> str:
    """Return an option or a function in words for files that every face shows, such as reports: batch size 32."""
    if isinstance(named, Call):
        return f"{named.function} {named.argument}".strip()
    return " ".join((named.option.replace("_", " "), *value_words(named))).strip()


def value_words(fix: Fix) -> tuple[str, ...]:
    """Return the value in words, none if there is none or it switches the option on."""
    if fix.value is None or fix.value is True:
        return ()
    values = fix.value if isinstance(fix.value, tuple) else (fix.value,)
    return (
        ",".join(
            "off" if item is False else f"{item:g}" if isinstance(item, float) else str(item)
            for item in values
        ),
    )


def _parts_of(part: _Part) -> tuple[str | Named, ...]:
    if isinstance(part, EmuError):
        return part.message.parts
    return part.parts if isinstance(part, Message) else (part,)


def _part(values: object) -> str | Named:
    """Return a part of a message read from JSON. Raises ValueError if it is none."""
    if isinstance(values, str):
        return values
    if isinstance(values, dict):
        match values:
            case {"option": str(option), "value": value} if len(values) == 2:
                if isinstance(value, list) and all(isinstance(item, str | float | int) for item in value):
                    return Fix(option, tuple(value))
                if value is None or isinstance(value, str | float | int):
                    return Fix(option, value)
            case {"function": str(function), "argument": str(argument)} if len(values) == 2:
                return Call(function, argument)
    raise ValueError("not a part of a message")
