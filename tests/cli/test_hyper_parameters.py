"""The options of a method's settings: what --help describes, what is read, and what is refused."""

import re
from argparse import Namespace
from dataclasses import dataclass
from typing import Any

import pytest

from emu_core.cli.hyper_parameters import add_options, changed
from emu_core.cli.parser import command_parser
from emu_core.cli.verb import HELP_COLUMNS, VerbParser
from emu_core.errors import TrainingError
from emu_core.methods.registry import method_named, methods
from emu_core.settings import SettingInfo, Settings, infos, setting
from emu_core.training.method import Needs

SCREEN = 42  # lines


def verb_of(method: str) -> str:
    return "pretrain" if method_named(method).needs is Needs.PARALLEL_TEXT else "train"


def parsed(verb: str, *arguments: str) -> Namespace:
    given = [verb, "demo", *arguments]
    return command_parser(given).parse_args(given)


def help_of(verb: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        parsed(verb, *arguments, "--help")
    assert stopped.value.code == 0
    return capsys.readouterr().out


def joined(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # of which help takes fewer


@pytest.mark.parametrize("verb", ["train", "pretrain"])
def test_help_is_one_screen(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = help_of(verb, capsys).splitlines()
    assert len(lines) <= SCREEN and max(map(len, lines)) <= HELP_COLUMNS
    for name, method in methods().items():
        assert any(line.split() == [name, *method.title.split()] for line in lines) == (verb_of(name) == verb)
    assert "--gate-quantile" not in "".join(lines) and "--method NAME" in "".join(lines)


@pytest.mark.parametrize("method", list(methods()))
def test_help_of_a_method_has_meaning_default_range_and_source_of_each_setting(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = method_named(method)
    shown = help_of(verb_of(method), capsys, "--method", method)
    assert max(map(len, shown.splitlines())) <= HELP_COLUMNS
    text, start = joined(shown), one.configure(one.encoder)
    assert one.summary in text
    for info in infos(one.settings):
        entry = re.search(rf"{info.flag}[ ,](.*?)(?= --(?!no-)[a-z]|$)", text)
        if info.fixed:
            assert entry is None
            continue
        assert entry is not None, info.flag
        assert info.help in entry[1]
        assert info.range in entry[1] and f"source: {info.source}." in entry[1]
        value = getattr(start, info.name)
        words = {True: "on", False: "off", None: "none"}
        default = words.get(value) if isinstance(value, bool | None) else str(value)
        given = re.search(r"Default: ([^ ;]+)", entry[1])
        assert given is not None
        assert given[1] == default or float(given[1]) == value
        for choice in info.choices:
            assert choice in entry[1]


@pytest.mark.parametrize(
    ("arguments", "default"),
    [
        (["--encoder", "use"], "Default: 0.0003 (preset paper: 0.001)"),
        (["--encoder", "e5-small"], "Default: 0.0001 (preset paper: 0.001)"),
        (["--encoder=hf:some/model"], "Default: 0.0001 (preset paper: 0.001)"),
        (["--encoder", "laser"], "Default: 0.001;"),
        (["--encoder", "e5-small", "--preset", "paper"], "Default: 0.001;"),
        ([], "Default: 0.0003 (preset paper: 0.001)"),
    ],
)
def test_help_shows_the_defaults_of_the_encoder(
    arguments: list[str], default: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = joined(help_of("train", capsys, "--method", "emu", *arguments))
    assert f"Step size of the encoder's weights (Adam). Lower it when the loss jumps about. {default}" in text


@pytest.mark.parametrize("method", list(methods()))
def test_every_setting_has_an_option_of_its_type(method: str) -> None:
    verb, named = verb_of(method), ["--method", method]
    assert changed(parsed(verb, *named)) == {}
    for info in infos(method_named(method).settings):
        if info.fixed:
            continue
        if info.kind is bool:
            assert changed(parsed(verb, *named, info.flag)) == {info.name: True}
            assert changed(parsed(verb, *named, f"--no-{info.flag[2:]}")) == {info.name: False}
            continue
        value = info.kind("3") if not info.choices else next(iter(info.choices))
        given = changed(parsed(verb, f"{info.flag}={value}", *named))
        assert given == {info.name: value}
        assert type(given[info.name]) is (str if info.choices else info.kind)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gate-quantile", "0.1", "--method", "emu"], "--gate-quantile is a setting of the method head, and"),
        (["--epochs=3"], "--epochs is a setting of the method emu or .* or meaning-language, and the method head"),
        (["--method", "emu", "--no-two-stage"], "--no-two-stage is a setting of the method fmda, .* --method fmda$"),
    ],
)  # fmt: skip
def test_an_option_of_another_method_is_an_error_that_names_the_method(
    arguments: list[str], message: str
) -> None:
    with pytest.raises(TrainingError, match=f"^{message}"):
        parsed("train", *arguments)


def test_what_stands_after_two_hyphens_is_data() -> None:
    given = ["train", "--method=emu", "--epochs=2", "--", "--gate-quantile"]
    options = command_parser(given).parse_args(given)
    assert [str(path) for path in options.data] == ["--gate-quantile"] and changed(options) == {"epochs": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method"], "expected one argument"),
        (["--method", "nothing"], "invalid choice: 'nothing'"),
        (["--method", "emu", "--epochs", "many"], "argument --epochs: invalid int value: 'many'"),
        (["--method", "emu", "--objective", "softmax"], "unrecognized arguments: --objective"),
        (["--method", "emu", "--trained", "some"], "argument --trained: invalid choice: 'some'"),
    ],
)
def test_nonsense_is_refused_by_the_parser(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parsed("train", *arguments)
    assert stopped.value.code == 2 and message in capsys.readouterr().err


@dataclass(frozen=True)
class Many(Settings):
    """What no method has, and a benchmark may."""

    seeds: tuple[int, ...] = setting((0, 1), "Seeds.", label="Seeds", low=0)
    names: tuple[str, ...] = setting((), "Names, 100% of them.", label="Names")
    title: str = setting("none", "A title.", label="Title", matters=lambda settings: bool(settings.names))


def test_lists_and_texts_are_read_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    start = Many()

    def text(info: SettingInfo) -> str:
        return info.describe(start, start)

    parser = VerbParser(prog="x")
    add_options(parser, Many, text)
    options = parser.parse_args(["--seeds", "3,4", "--names=a, b", "--title", "t"])
    values: dict[str, Any] = vars(options)
    assert values == {"seeds": (3, 4), "names": ("a", "b"), "title": "t"}
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    told = joined(capsys.readouterr().out)
    assert "Seeds. Default: 0,1; range: 0 or more; source: ours." in told
    assert "Names, 100% of them. Default: none; source: ours." in told
    assert "A title. Default: none; unused with the other defaults; source: ours." in told
