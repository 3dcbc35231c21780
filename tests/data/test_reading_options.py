"""How data is to be read: one object, which nobody gives in vain."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import emu_core
from emu_core.data.reading import ColumnMapping, Reading, checked_reading
from emu_core.errors import _OF_READING, Fix, InputError, Message
from tests.support.small import small_set

READ = ("read_labelled", "read_unlabelled", "labelled_from_frame")
VERBS = ("train", "evaluate", "compare", "predict", "embed", "suggest_labels")


def refused(error: pytest.ExceptionInfo[InputError]) -> Any:
    return next(part for part in error.value.message.parts if isinstance(part, Fix)).option


@pytest.mark.parametrize("name", READ + VERBS)
def test_every_function_that_reads_takes_a_reading_and_none_of_its_parts(name: str) -> None:
    parameters = set(inspect.signature(getattr(emu_core, name)).parameters)
    assert "reading" in parameters
    assert parameters & {field.name for field in fields(Reading)} == set()


def test_python_is_told_where_an_option_of_a_reading_goes() -> None:
    assert tuple(field.name for field in fields(Reading)) == _OF_READING
    assert str(Message(Fix("language", "en"))) == "reading=Reading(language='en')"
    assert str(Message(Fix("text_column", "mail"))) == "reading=Reading(mapping=ColumnMapping(text='mail'))"
    assert str(Message(Fix("no_intents", ("chat",)))) == "reading=Reading(no_intents=['chat'])"


def test_a_reading_is_a_value() -> None:
    assert Reading(no_intents="chat") == Reading(no_intents=["chat"]) and hash(Reading(no_intents=["chat"]))
    assert checked_reading(None) == Reading()
    for wrong in (ColumnMapping(text="mail"), {"language": "en"}, "en"):
        with pytest.raises(InputError, match="no reading"):
            checked_reading(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no mapping"):
        Reading(mapping={"text": "mail"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "value"),
    [("language", "en"), ("mapping", ColumnMapping(text="text")), ("merge_intents", ["case"])],
)
def test_what_a_labelled_set_would_ignore_is_refused(option: str, value: Any, tmp_path: Path) -> None:
    data, reading = small_set(), Reading(**{option: value})
    for call in (
        lambda: emu_core.train(data, out=tmp_path / "run", reading=reading),
        lambda: emu_core.evaluate(data, reading=reading),
        lambda: emu_core.suggest_labels(emu_core.unlabelled_from(data, ["en"]), data, reading=reading),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert refused(error) == option
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError) as error:
        emu_core.train(emu_core.unlabelled_from(data, ["en"]), method="distil", reading=reading)
    assert refused(error) == option


def test_what_is_read_without_intents_refuses_what_is_said_of_them(tmp_path: Path) -> None:
    reading = Reading(language="en", no_intents=["chat"])
    with pytest.raises(InputError) as error:
        emu_core.embed(["hi"], out=tmp_path / "vectors.parquet", reading=reading)
    assert refused(error) == "no_intents"
    with pytest.raises(InputError) as error:
        emu_core.read_unlabelled(["hi"], reading=reading)
    assert refused(error) == "no_intents"


def test_a_labelled_set_takes_what_stands_for_none_of_these() -> None:
    measured = emu_core.evaluate(small_set(("en",)), reading=Reading(no_intents=["pets"]), device="cpu")
    everything = emu_core.evaluate(small_set(("en",)), device="cpu")
    assert measured["counts"]["en-en"] < everything["counts"]["en-en"]
