"""Every encoder in the app: the list of them, the choice of one, and settings that hang on it."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.forms import encoder as encoder_form
from emu_app.panels import context
from emu_app.shell import model_name
from emu_app.shell.model_name import HF, in_address, model_spec, short_name
from emu_app.work import cache, jobs, vectors
from emu_app.work.background import Done, Failed, Pending, TaskOutcome
from emu_app.work.jobs import JobManager
from emu_app.work.vectors import weights_of
from emu_core.api import inputs
from emu_core.encoders import registry
from emu_core.encoders.registry import EncoderInfo, available_encoders
from emu_core.errors import EncoderError, Message
from emu_core.methods.registry import configure
from emu_core.runs.run import Run
from tests.support.app_pages import choose_method, new_session

ABSENT = EncoderInfo(
    spec="absent",
    name="Absent <b>one</b>",
    dim=1024,
    languages=("en", "de", "fr"),
    size_mb=180,
    licence="BSD-3-Clause",
    available=False,
    reason="pip install absent==1.0",
)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    root = tmp_path / "runs"
    root.mkdir()
    manager = JobManager(root, (sys.executable, "-c", "pass"))
    monkeypatch.setenv("EMU_RUNS", str(root))
    monkeypatch.setattr(jobs, "_job_manager", lambda root: manager)
    return new_session().run()


@pytest.fixture
def with_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = (*available_encoders(), ABSENT)
    for module in (registry, encoder_form, context, inputs):
        monkeypatch.setattr(module, "available_encoders", lambda: everything)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that may be a model; nothing opens it here."""
    folder = tmp_path / "my model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def open_page(app: AppTest, name: str) -> AppTest:
    app.switch_page(f"views/{name}.py").run()
    assert not app.exception
    return app


def with_encoder(app: AppTest, spec: str, model: str | None = None) -> AppTest:
    app.selectbox(key="encoder").set_value(spec).run()
    if model is not None:
        app.text_input(key="encoder-model").set_value(model).run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    everything = (*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.header)
    return "\n".join(str(element.value).replace("\\", "") for element in everything)


def start(app: AppTest) -> Any:
    return next(button for button in app.button if button.label == "Start the run")


# ----------------------------------------------------------------------------------------------- the list


def test_every_encoder_is_listed_with_what_is_known_of_it(app: AppTest) -> None:
    text = said(open_page(app, "encoders"))
    for info in available_encoders():
        assert info.name in text
        assert f"`{info.spec}" in text
        for value, shown in (
            (info.dim, f"\n{info.dim:,} dimensions"),
            (info.size_mb, f"\n{info.size_mb:,} MB"),
        ):
            assert (shown in text) == bool(value)
        assert info.licence in text
    assert "**16 languages:** Arabic, Chinese, Chinese (traditional), Dutch" in text
    many = next(info for info in available_encoders() if len(info.languages) > 20)
    expander = next(box for box in app.expander if box.label == f"Trained on {len(many.languages)} languages")
    assert "Swahili" in expander.markdown[0].value
    assert len(app.warning) == sum(not info.available for info in available_encoders())


def test_an_encoder_that_is_not_here_says_why_and_how_to_mend_it(app: AppTest, with_absent: None) -> None:
    text = said(open_page(app, "encoders"))
    assert "Not available here: pip install absent==1.0" in app.warning[-1].value.replace("\\", "")
    assert r"\<b\>" in app.header[-1].value
    assert "**3 languages:** English, French, German" in text


def test_an_encoder_that_is_not_here_can_not_be_trained(app: AppTest, with_absent: None) -> None:
    with_encoder(open_page(app, "train"), "absent")
    assert app.selectbox(key="encoder").options[-1].endswith("(not available here)")
    assert "is not available here: pip install absent==1.0" in app.warning[0].value.replace("\\", "")
    assert start(app).disabled


# --------------------------------------------------------------------------------------------- the choice


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "Name a transformer"),
        ("https://huggingface.co/a/b", "is an address"),
        ("/no/such/folder", "There is no folder /no/such/folder on the machine"),
        ("../x", "There is no folder"),
        ("~nobody-at-all/x", "There is no folder"),
        ("a/b/c", "is neither a folder here nor a name"),
        ("a b", "is neither a folder here nor a name"),
        ("a/..", "is neither a folder here nor a name"),
        ("![x](http/y)", "is neither a folder here nor a name"),
    ],
)
def test_a_model_that_can_not_be_one_is_refused_with_the_reason(
    app: AppTest, typed: str, reason: str
) -> None:
    with_encoder(open_page(app, "train"), "hf:", typed)
    assert reason in app.warning[0].value.replace("\\", "")
    assert "![x](" not in app.warning[0].value
    assert start(app).disabled


def test_a_folder_without_a_model_is_refused(app: AppTest, tmp_path: Path) -> None:
    with_encoder(open_page(app, "train"), "hf:", str(tmp_path))
    assert "contains no model: it has neither modules.json nor config.json" in app.warning[0].value.replace(
        "\\", ""
    )
    assert start(app).disabled


def test_a_folder_is_trained_from_wherever_the_server_stands(
    app: AppTest, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    with_encoder(open_page(app, "train"), "hf:", model.name)
    assert not app.warning
    start(app).click().run()
    assert not app.exception
    run = Run(cache.all_runs_root() / "head-hf-my-model-1")
    assert run.config().encoder == f"hf:{model}"


def test_what_is_not_known_of_a_model_is_not_made_up(app: AppTest, model: Path) -> None:
    with_encoder(open_page(app, "train"), "hf:", str(model))
    text = said(app)
    assert "Dimensions, languages, size and licence depend on the model." in text
    assert "\n0 dimensions" not in text
    assert "0 MB" not in text
    assert "was not trained on" not in text  # nobody knows


def test_a_language_that_the_encoder_does_not_know_is_named(app: AppTest, with_absent: None) -> None:
    with_encoder(open_page(app, "train"), "absent")
    choose_method(app, "emu")
    assert "was not trained on Spanish, Japanese, Chinese: it may know little" in said(app)
    with_encoder(app, "use")
    assert "was not trained on" not in said(app)


@pytest.mark.parametrize(
    ("typed", "spec"),
    [
        ("intfloat/multilingual-e5-small", "hf:intfloat/multilingual-e5-small"),
        (" hf:distiluse-base ", "hf:distiluse-base"),
        ("BAAI/bge-m3_v1.5", "hf:BAAI/bge-m3_v1.5"),
    ],
)
def test_a_name_of_the_hub_is_taken_as_it_is(typed: str, spec: str) -> None:
    assert model_spec(typed) == spec


@pytest.mark.parametrize("typed", ["x\0y", "x" * 5000, "a--b/..--", "-x/y", "a/b\nc", "C:\\models\\x"])
def test_odd_names_are_errors_and_not_crashes(typed: str) -> None:
    with pytest.raises(EncoderError) as refused:
        model_spec(typed)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


def test_a_run_is_named_after_its_model() -> None:
    assert short_name("hf:/home/someone/models/tiny") == "hf-tiny"
    assert short_name("hf:intfloat/e5") == "hf-e5"
    assert short_name("use") == "use"


# ------------------------------------------------------------------------------------------- the settings


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "lora"), [("use", False), ("e5-small", True), ("hf:", True)])
def test_lora_is_for_transformers(app: AppTest, model: Path, spec: str, lora: bool) -> None:
    with_encoder(open_page(app, "train"), spec, str(model) if spec == HF else None)
    choose_method(app, "emu")
    box = next(box for box in app.selectbox if box.label == "Trained weights")
    assert any("LoRA" in option for option in box.options) == lora


@pytest.mark.slow
def test_a_choice_brings_the_settings_that_hang_on_it_and_reaches_the_run(app: AppTest) -> None:
    with_encoder(open_page(app, "train"), "use")
    choose_method(app, "emu")

    def labels() -> set[str]:
        return {box.label for box in app.number_input}

    next(box for box in app.selectbox if box.label == "Trained weights").set_value("all-but-embeddings").run()
    assert "Layers, from the output" not in labels()
    next(box for box in app.selectbox if box.label == "Trained weights").set_value("last-layers").run()
    assert "Layers, from the output" in labels()
    assert "LoRA rank (r)" not in labels()
    next(box for box in app.number_input if box.label == "Layers, from the output").set_value(1).run()
    next(box for box in app.selectbox if box.label == "Discriminator objective").set_value(
        "cross-entropy"
    ).run()
    start(app).click().run()
    assert not app.exception
    run = Run(cache.all_runs_root() / "emu-use-1")
    changes = {"trained": "last-layers", "last_layers": 1, "adversary": "cross-entropy"}
    assert run.config().hyperparameters == asdict(configure("emu", "use", **changes))


def test_settings_of_another_method_are_not_offered(app: AppTest) -> None:
    open_page(app, "train")
    choose_method(app, "contrastive")
    labels = {box.label for box in (*app.number_input, *app.selectbox)}
    assert "Margin (m)" in labels
    assert not any("Discriminator" in label or "Center" in label for label in labels)
    choose_method(app, "emu")
    labels = {box.label for box in (*app.number_input, *app.selectbox)}
    assert {
        "Discriminator weight (gamma)",
        "Center loss weight (lambda)",
        "Update rate of the centres",
    } <= labels
    assert "Margin (m)" not in labels


# -------------------------------------------------------------------------------------------- the vectors


class OneAtATime:
    """Stands for the background worker: does what it is told to, when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = []
        self.outcomes: dict[str, TaskOutcome] = {}

    def run(self, key: str, function: Callable[..., Any], *args: Any) -> TaskOutcome:
        if key not in self.outcomes:
            self.asked.append((key, function, args))
            self.outcomes[key] = Pending(key)
        return self.outcomes[key]

    def forget(self, key: str) -> None:
        del self.outcomes[key]


def test_a_model_of_the_hub_is_fetched_beside_the_page_and_then_encodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, cached = OneAtATime(), set[str]()
    monkeypatch.setenv("EMU_RUNS", str(tmp_path))
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(model_name, "in_cache", lambda name: name in cached)
    monkeypatch.setattr(vectors, "_cached", sorted)
    spec = "hf:someone/tiny"
    assert isinstance(cache.embeddings(spec, "", ["a"]), Pending)
    [(fetching, function, args)] = worker.asked
    assert (function.__name__, args) == ("fetch", (spec,))
    worker.outcomes[fetching] = Failed(Message("the model 'someone/tiny' can't be fetched"))
    with pytest.raises(EncoderError, match="can't be fetched"):
        cache.embeddings(spec, "", ["a"])
    assert cache.embeddings(spec, "", ["a"]) == Pending(fetching)  # a failure is not for ever
    worker.outcomes[fetching] = Done(True)
    cached.add("someone/tiny")
    encoding = cache.embeddings(spec, "", ["a"])
    assert isinstance(encoding, Pending)
    key, function, args = worker.asked[-1]
    assert (key, function.__name__, args[0]) == (encoding.key, "encode_to_file", spec)
    args[-1].parent.mkdir()
    np.save(args[-1], np.ones((1, 4), dtype=np.float32))
    assert np.asarray(cache.embeddings(spec, "", ["a"])).tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize("inner", ["config.json", "1_Pooling/config.json", "model.safetensors"])
def test_other_weights_in_a_folder_are_another_encoder(tmp_path: Path, inner: str) -> None:
    """Vectors of the old ones must not be shown for the new ones."""
    for spec, folder in (
        (f"hf:{tmp_path / 'model'}", tmp_path / "model"),
        (f"run:{tmp_path / 'run'}", tmp_path / "run" / "encoder" / "model"),
    ):
        (folder / inner).parent.mkdir(parents=True)
        (folder / inner).write_text("one")
        before = weights_of(spec)
        assert weights_of(spec) == before
        (folder / inner).write_text("another")
        assert weights_of(spec) != before


def test_no_two_encoders_share_their_vectors() -> None:
    specs = ("use", "e5-small", "laser", "hf:someone/tiny", "hf:other/tiny")
    assert len({weights_of(spec) for spec in specs}) == len(specs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("hf:", "Encoder A: Name a transformer"),
        ("absent", "is not available here"),
        ("run:gone", "Encoder A: there is no finished run gone here."),
        ("run:../..", "there is no finished run"),
        ("nonsense://", "is an address"),
        ("hf:someone/huge", "type its name above to download it"),
        ("hf:/etc", "this server opens no folders"),
    ],
)
def test_an_address_that_names_no_encoder_is_said_and_the_usual_one_taken(
    app: AppTest, with_absent: None, named: str, told: str
) -> None:
    app.query_params["a"] = named
    open_page(app, "try")
    assert told in app.warning[0].value.replace("\\", "")
    assert app.selectbox(key="choose-a").value == "use" and app.query_params["a"] == "use"


# ---------------------------------------------------------------------------------------- joined encoders


def test_both_encoders_are_offered_and_a_run_trains_each_with_its_own_settings(app: AppTest) -> None:
    with_encoder(open_page(app, "train"), "use+e5-small")
    box = app.selectbox(key="encoder")
    assert any(option.startswith("Best quality: both encoders, about ") for option in box.options)
    choose_method(app, "emu")
    labels = {box.label for box in (*app.number_input, *app.selectbox)}
    assert "Epochs" in labels and "Learning rate" not in labels
    assert "Each encoder has its own: " in said(app) and "Learning rate" in said(app)
    next(box for box in app.number_input if box.label == "Epochs").set_value(2).run()
    start(app).click().run()
    assert not app.exception
    config = Run(cache.all_runs_root() / "emu-use-e5-small-1").plan()
    assert config.encoder == "use+e5-small" and config.hyperparameters == {}
    expected = [asdict(configure("emu", kind, epochs=2)) for kind in ("use", "e5-small")]
    assert [part.hyperparameters for part in config.parts] == expected


def test_the_papers_settings_are_the_same_for_both(app: AppTest) -> None:
    with_encoder(open_page(app, "train"), "use+e5-small")
    choose_method(app, "emu")
    app.segmented_control(key="preset-EmuConfig").set_value("paper").run()
    assert "Learning rate" in {box.label for box in app.number_input}
    start(app).click().run()
    config = Run(cache.all_runs_root() / "emu-use-e5-small-1").plan()
    assert [part.hyperparameters for part in config.parts] == [asdict(configure("emu"))] * 2


@pytest.mark.parametrize(
    ("spec", "short", "address"),
    [
        ("use+e5-small", "use+e5-small", "use+e5-small"),
        ("run:/runs/a+run:/runs/b", "a+b", "run:a+run:b"),
        ("hf:/models/tiny+use", "hf-tiny+use", "hf:/models/tiny+use"),
    ],
)
def test_the_names_of_joined_encoders(spec: str, short: str, address: str) -> None:
    assert short_name(spec) == short and in_address(spec) == address


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("use+use", "joins an encoder with itself"),
        ("use+run:gone", "there is no finished run gone here."),
        ("hf:someone/huge+use", "type its name above to download it"),
    ],
)
def test_an_address_that_joins_what_is_not_there_is_said(app: AppTest, named: str, told: str) -> None:
    app.query_params["a"] = named
    open_page(app, "try")
    assert told in app.warning[0].value.replace("\\", "")
    assert app.selectbox(key="choose-a").value == "use"


def test_joined_encoders_in_the_address_are_taken(app: AppTest) -> None:
    app.query_params["a"] = "use+e5-small"
    open_page(app, "try")
    assert app.selectbox(key="choose-a").value == "use+e5-small"


def test_other_weights_of_a_part_are_another_encoder(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "encoder" / "parts" / "0" / "base" / "model" / "1_Pooling"
    folder.mkdir(parents=True)
    specs = (f"run:{tmp_path / 'run'}", f"use+run:{tmp_path / 'run'}")
    seen = set()
    for text in ("one", "another"):
        (folder / "config.json").write_text(text)
        seen |= {weights_of(spec) for spec in specs}
    assert len(seen) == 4


def test_a_renamed_run_keeps_its_new_name_in_a_join() -> None:
    def script() -> None:
        import streamlit as st

        from emu_app.shell.address import choices_of_session, keep, keep_renamed

        for param, value in {"a": "run:a+use", "b": "run:other", "watched": "a"}.items():
            keep(param, value)
        keep_renamed("a", "b")
        st.json(choices_of_session())
        keep_renamed("b")
        st.json(choices_of_session())

    renamed, dropped = (json.loads(shown.value) for shown in AppTest.from_function(script).run().json)
    assert renamed == {"a": "run:b+use", "b": "run:other", "watched": "b"}
    assert dropped == {"b": "run:other"}
