"""Messages: the same sentence in the words of Python, the command and the app."""

import json
import multiprocessing
import pickle
from multiprocessing.connection import Connection

import pytest

from emu_app.shell.wording import in_app, sentence, worded
from emu_core.cli.wording import in_command
from emu_core.errors import (
    Call,
    CancelledError,
    DataError,
    EmuError,
    EncoderError,
    Fix,
    Message,
    RunError,
    TrainingError,
    in_words,
)
from emu_core.spawning import isolated

RAN_OUT = TrainingError("memory ran out; a batch of 32 fits: ", Fix("batch_size", 32))
FOLDER = "runs/my run"


@pytest.mark.parametrize(
    ("error", "python", "command", "app"),
    [
        (
            RAN_OUT,
            "memory ran out; a batch of 32 fits: batch_size=32",
            "memory ran out; a batch of 32 fits: --batch-size 32",
            "memory ran out; a batch of 32 fits: set Batch size to 32",
        ),
        (
            DataError("lower ", Fix("learning_rate"), " and train again"),
            "lower learning_rate and train again",
            "lower --learning-rate and train again",
            "lower Learning rate and train again",
        ),
        (
            TrainingError("name one: ", Fix("train_languages", ("en",))),
            "name one: train_languages=['en']",
            "name one: --train-language en",
            "name one: set Labels in to en",
        ),
        (
            DataError("map one: ", Fix("intent_column", "my label")),
            "map one: mapping=ColumnMapping(intent='my label')",
            "map one: --intent-column 'my label'",
            "map one: set Intent to my label",
        ),
        (
            RunError("train it again with ", Fix("snapshots", True)),
            "train it again with snapshots=True",
            "train it again with --snapshots",
            "train it again with Keep each epoch's vectors",
        ),
        (
            CancelledError("resume it with ", Call("resume", FOLDER)),
            "resume it with emu_core.resume('runs/my run')",
            "resume it with emu resume 'runs/my run'",
            "resume it with Resume",
        ),
        (
            EncoderError("run ", Call("encoders.laser.download.download")),
            "run emu_core.encoders.laser.download.download",
            "run emu encoders download laser",
            "run emu encoders download laser in a terminal",
        ),
    ],
)
def test_each_face_names_options_and_functions_in_its_words(
    error: EmuError, python: str, command: str, app: str
) -> None:
    assert str(error) == str(error.message) == python
    assert error._render_traceback_() == [f"{type(error).__name__}: {python}"]
    assert error.message.worded(in_command) == command
    assert worded(error) == worded(error.message) == app


def test_a_file_that_all_faces_show_has_neither_flags_nor_python() -> None:
    assert RAN_OUT.message.worded(in_words) == "memory ran out; a batch of 32 fits: batch size 32"
    assert Message("with ", Fix("snapshots", True)).worded(in_words) == "with snapshots"


def test_text_of_a_user_is_left_as_it_is() -> None:
    name = "{fix} --batch-size (in the command: x) %s {0}"
    error = DataError(f"no column '{name}'; map one: ", Fix("text_column", name))
    for words in (in_command, in_app, in_words):
        assert error.message.worded(words).startswith(f"no column '{name}'; map one: ")
    assert "({fix} --batch-size (in the command: x) %s {0})" in worded(Message(f"({name})"))
    assert "<b>" not in sentence(Message("a ", Fix("text_column", "<b>"))).replace("\\<b\\>", "")


def test_an_error_within_another_keeps_its_parts() -> None:
    outer = DataError("hotel.csv: ", DataError("name it: ", Fix("language", "en")), "; or not")
    assert outer.args == ("hotel.csv: name it: ", Fix("language", "en"), "; or not")
    assert outer.message.worded(in_command) == "hotel.csv: name it: --language en; or not"


@pytest.mark.parametrize("kind", [EmuError, DataError, EncoderError, TrainingError, RunError, CancelledError])
def test_an_error_is_pickled_with_its_parts(kind: type[EmuError]) -> None:
    error = kind("a ", Fix("batch_size", 2), " and ", Call("resume", FOLDER))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - from this process
    assert type(copy) is kind and copy.message == error.message and copy.args == error.args


def _raise_in_process(sender: Connection) -> None:
    try:
        raise RAN_OUT
    except TrainingError as error:
        sender.send(error)


def test_an_error_of_another_process_keeps_its_parts() -> None:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_raise_in_process, args=(sender,))
    with isolated():
        process.start()
    assert receiver.recv().message == RAN_OUT.message
    process.join()


@pytest.mark.parametrize(
    "message",
    [
        Message(),
        Message("cancelled"),
        RAN_OUT.message,
        Message(Fix("a"), Fix("b", ("en", 1.5)), Fix("c", True), Call("resume", FOLDER), "end"),
    ],
)
def test_a_message_comes_back_from_json(message: Message) -> None:
    assert Message.from_json(json.loads(json.dumps(message.to_json()))) == message
    assert bool(message) == (message != Message())


def test_a_message_without_options_is_a_text_in_json() -> None:
    assert Message("cancelled ", Message("before"), " it began").to_json() == "cancelled before it began"


@pytest.mark.parametrize(
    "values",
    [3, None, {"option": "a"}, [["a"]], [{"option": "a", "value": {}}], [{"option": 1, "value": 1}],
     [{"option": "a", "value": [None]}], [{"function": "a"}], [{"function": "a", "argument": 1}]],
)  # fmt: skip
def test_nothing_else_is_a_message(values: object) -> None:
    with pytest.raises(ValueError, match="message"):
        Message.from_json(values)
