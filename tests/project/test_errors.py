"""Messages: the same sentence in the words of Python, the command and the app."""

import ast
import inspect
import json
import multiprocessing
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import emu_core
from emu_app.shell.wording import CONTROLS, in_app, label_of, sentence, worded
from emu_core.bench.papers import PAPERS
from emu_core.bench.parallel.texts import read_bench_texts
from emu_core.cli.options import COLUMN_ROLES
from emu_core.cli.parser import VERBS
from emu_core.cli.wording import flag_of, in_command
from emu_core.cluster import embed_on_cluster, predict_on_cluster
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
from emu_core.methods.registry import methods
from emu_core.settings import infos
from emu_core.spawning import isolated
from tests.support.raises import raises
from tests.support.raising import RAN_OUT, raise_and_send

ROOT = Path(__file__).parents[2]
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
            "map one: reading=Reading(mapping=ColumnMapping(intent='my label'))",
            "map one: --intent-column 'my label'",
            "map one: set Intent to my label",
        ),
        (
            RunError("train it again with ", Fix("snapshots", True)),
            "train it again with snapshots=True",
            "train it again with --snapshots",
            "train it again with Keep sentences in the run",
        ),
        (
            CancelledError("resume it with ", Call("resume", FOLDER)),
            "resume it with emu_core.resume('runs/my run')",
            "resume it with emu resume 'runs/my run'",
            "resume it with Resume",
        ),
        (
            TrainingError("use ", Call("pretrain"), " for it, or ", Fix("decay", False)),
            "use emu_core.pretrain for it, or decay=False",
            "use emu pretrain for it, or --no-decay",
            "use the page Pretrain for it, or set Learning rate decay to off",
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


def test_the_remedy_of_an_error_is_the_first_that_its_message_names() -> None:
    resume = Call("resume", FOLDER)
    inner = DataError("name it: ", Fix("language", "en"), " or ", resume)
    assert inner.fix == DataError("hotel.csv: ", inner).fix == Fix("language", "en")
    assert RunError(resume, " or ", Fix("out")).fix == resume
    assert EmuError().fix is EmuError("pip install language").fix is None


@pytest.mark.parametrize("fix", ["batch_size", Fix("batch_size", 32)])
def test_tests_expect_a_class_and_its_remedy(fix: str | Fix) -> None:
    with raises(TrainingError, fix=fix, match="of 32 fits") as caught:
        raise RAN_OUT
    assert caught.value is RAN_OUT
    with raises(TrainingError, fix=None):
        raise TrainingError("lower batch_size")


@pytest.mark.parametrize(
    ("kind", "fix", "match"),
    [
        (EmuError, "batch_size", None),
        (RunError, "batch_size", None),
        (TrainingError, "epochs", None),
        (TrainingError, Fix("batch_size", 16), None),
        (TrainingError, None, None),
        (TrainingError, "batch_size", "of 16 fits"),
    ],
)
def test_another_class_remedy_or_text_than_tests_expect_fails(
    kind: type[EmuError], fix: str | Fix | None, match: str | None
) -> None:
    with pytest.raises((AssertionError, TrainingError)), raises(kind, fix=fix, match=match):
        raise RAN_OUT
    with pytest.raises(AssertionError), raises(TrainingError, fix="batch_size"):
        raise TrainingError("lower batch_size")


@pytest.mark.parametrize("kind", [EmuError, DataError, EncoderError, TrainingError, RunError, CancelledError])
def test_an_error_is_pickled_with_its_parts(kind: type[EmuError]) -> None:
    error = kind("a ", Fix("batch_size", 2), " and ", Call("resume", FOLDER))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - from this process
    assert type(copy) is kind and copy.message == error.message and copy.args == error.args


def test_an_error_of_another_process_keeps_its_parts() -> None:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=raise_and_send, args=(sender,))
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


def _trees(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The string literals of a module, without docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    docs = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


@cache
def _named(kind: str) -> dict[str, str]:
    """The first argument of each `Fix` or `Call` that the library makes, with the place of one that makes it."""
    return {
        first.value: place
        for name, first, place in _calls()
        if name == kind and isinstance(first, ast.Constant)
    }


@cache
def _calls() -> list[tuple[str, ast.expr, str]]:
    """Each call of a function by its name with its first argument, and the place of the call."""
    return [
        (node.func.id, node.args[0], f"{path}:{node.lineno}")
        for path, tree in _trees("emu_core")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
        if node.func.id in ("Fix", "Call")
    ]


_INSTALLS = re.compile(r"\bpip install|emu encoders download laser$|run emu encoders download laser, or set ")


@pytest.mark.slow
def test_the_library_names_options_only_as_data() -> None:
    command = re.compile(rf"(?<![-\w])--[a-z]|\bemu ({'|'.join(VERBS)})\b|in the command|in Python\b")
    ours = [(path, tree) for path, tree in _trees("emu_core") if path.parts[1] != "cli"]
    texts = [(f"{path}:{line}", text) for path, tree in ours for line, text in _texts(tree)]
    named = [(place, text) for place, text in texts if command.search(text)]
    assert [place for place, text in named if not _INSTALLS.search(text)] == []
    assert len(texts) > 5_000  # the search sees the literals
    papers = (ROOT / "emu_core" / "bench").glob("*/words.toml")
    templates = (ROOT / "emu_core" / "reports" / "templates").glob("*.md.j2")
    assert [path for path in (*papers, *templates) if command.search(path.read_text("utf-8"))] == []


def test_every_option_that_a_message_names_is_a_flag_and_a_parameter() -> None:
    options = _named("Fix")
    assert {"batch_size", "out", "train_languages", "drop_empty"} <= options.keys()
    fixed = {info.name for method in methods().values() for info in infos(method.settings) if info.fixed}
    assert {
        option: place for option, place in options.items() if not flag_of(option) and option not in fixed
    } == {}
    assert all(flag_of(f"{role}_column") == f"--{role}-column" for role in ("text", *COLUMN_ROLES))
    known = {info.name for method in methods().values() for info in infos(method.settings)}
    known |= {info.name for paper in PAPERS.values() for info in infos(paper.settings)}
    functions = [getattr(emu_core, name) for name in emu_core.__all__]
    functions += [embed_on_cluster, predict_on_cluster]
    for function in (*functions, read_bench_texts, *(paper.load().gather for paper in PAPERS.values())):
        known |= inspect.signature(function).parameters.keys()
    columns = {f"{role}_column" for role in ("text", *COLUMN_ROLES)}
    assert {option: place for option, place in options.items() if option not in known | columns} == {}


def test_every_function_that_a_message_names_is_a_verb_and_exported() -> None:
    functions = _named("Call")
    assert "resume" in functions
    assert functions.keys() <= VERBS.keys() & set(emu_core.__all__)


def test_every_label_of_an_option_is_on_a_form() -> None:
    rooms = [tree for path, tree in _trees("app") if path.parts[2:3] != ("shell",)]
    labels = {text for tree in rooms for _, text in _texts(tree)}
    labels |= {info.label for paper in PAPERS.values() for info in infos(paper.settings)}
    # A form may take its label from the table.
    taken = {
        node.slice.value
        for tree in rooms
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "CONTROLS"
        and isinstance(node.slice, ast.Constant)
    }
    missing = [option for option, label in CONTROLS.items() if label not in labels and option not in taken]
    assert missing == []
    assert CONTROLS.keys() <= _named("Fix").keys() | {"text_column"}  # which is made of a role
    assert label_of("test_nli") == ""
