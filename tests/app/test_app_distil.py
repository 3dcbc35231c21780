"""The page Train starts a distillation: a teacher is chosen, and no labels are asked for."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from emu_core import train
from emu_core.methods.presets import presets
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run
from tests.support.app_pages import choose_method, new_session
from tests.support.small import small_set


def choose_teacher(app: AppTest, spec: str) -> None:
    next(box for box in app.selectbox if box.label == "Teacher").set_value(spec).run()
    assert not app.exception


def start_button(app: AppTest) -> Button:
    return next(button for button in app.button if button.label == "Start the run")


@pytest.mark.slow
def test_a_run_or_a_published_encoder_is_chosen_as_teacher(root: Path) -> None:
    # With a head of its own, which could not be trained further, but can teach.
    teacher = train(small_set(), out=root / "best", device="cpu")
    app = new_session("train")
    app.query_params["method"] = "distil"
    app.run()
    assert not app.exception
    labels = {box.label for box in app.multiselect}
    assert "Sentences without labels in" in labels and "Labels in" not in labels
    assert app.multiselect[0].value == ["en", "de", "es", "fr", "ja", "zh"]
    box = next(box for box in app.selectbox if box.label == "Teacher")
    assert box.value is None and box.options[0].startswith("USE multilingual")
    assert "Run best" in box.options
    assert start_button(app).disabled and app.warning[0].value.startswith("No teacher is named")

    choose_teacher(app, "use")
    assert "is also the encoder to train" in app.warning[0].value
    choose_teacher(app, f"run:{teacher.folder}")
    assert not start_button(app).disabled
    app.multiselect[0].set_value([]).run()
    assert app.warning[0].value.startswith("Choose a language whose sentences are used")
    app.multiselect[0].set_value(["en", "ja"]).run()
    start_button(app).click().run()
    assert not app.exception
    config = Run(root / "distil-use-1").config()
    Run(root / "distil-use-1").cancel()
    assert config.hyperparameters["teacher"] == f"run:{teacher.folder}"
    assert (config.train_languages, config.unlabelled_languages) == ((), ("en", "ja"))


@pytest.mark.slow
def test_sentences_of_files_are_enough(root: Path) -> None:
    """No language of the data is used: it is there to measure on."""
    app = new_session("train")
    app.query_params["method"] = "distil"
    app.run()
    choose_teacher(app, "e5-small")
    app.multiselect[0].set_value([]).run()
    assert start_button(app).disabled
    texts = small_set(("en",)).train_part().frame["text"].tolist()
    app.file_uploader[0].set_value([("mails.txt", "\n".join(texts).encode(), "")])
    app.run()
    assert "language" in app.error[0].value
    next(box for box in app.text_input if box.label == "Language of the sentences").set_value("Dutch").run()
    assert not app.error
    assert any(text.value.startswith("72 sentences in Dutch: mails") for text in app.markdown)
    start_button(app).click().run()
    assert not app.exception
    run = Run(root / "distil-use-1")
    run.cancel()
    assert run.config().unlabelled_languages == ("nl",) and run.data(LabelledFacts).labelled == 0
    next(button for button in app.button if button.label == "Leave these out").click().run()
    assert start_button(app).disabled


@pytest.mark.parametrize("name", ["best", "fast"])
def test_a_preset_is_chosen_with_what_it_costs(name: str, root: Path) -> None:
    """No encoder and no settings are asked for; the run is one of its own. A student reads sentences without labels."""
    app = new_session("train")
    app.run()
    choose_method(app, name)
    assert not app.exception
    preset = presets()[name]
    said = [*(caption.value for caption in app.caption), *app.radio(key="choose-method-group").proto.captions]
    assert any(text and preset.summary.startswith(text) for text in said)
    assert {"Encoder", "Teacher", "Start from"}.isdisjoint(box.label for box in app.selectbox)
    unlabelled = ["Sentences without labels in"] if preset.teacher else []
    assert [box.label for box in app.multiselect] == ["Labels in", *unlabelled]
    start_button(app).click().run()
    assert not app.exception
    run = Run(next(root.glob(f"{name}-use*-1")))
    run.cancel()
    config = run.plan()
    assert (config.method, config.encoder) == (preset.method, preset.encoder)
    parts = (config.teacher or config).parts
    assert [part.encoder for part in parts] == preset.of_labels.encoder.split("+")
    assert {part.method for part in parts} == {preset.of_labels.method}
    assert config.train_languages == ("en",) and ("ja" in config.unlabelled_languages) == bool(unlabelled)
