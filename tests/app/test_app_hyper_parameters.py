"""The form of a method's hyper-parameters: its words are those of the fields, and so of --help."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

from emu_core.methods.registry import default_method, method_named, methods
from emu_core.settings import Settings, infos

PATIENCE_S = 30.0


def script(name: str, encoder: str) -> None:
    import streamlit as st

    from emu_app.forms.settings import draw_settings
    from emu_core.methods.registry import method_named

    st.session_state["drawn"] = draw_settings(method_named(name), encoder)


def form(name: str, encoder: str | None = None) -> AppTest:
    encoder = method_named(name).encoder if encoder is None else encoder
    app = AppTest.from_function(script, args=(name, encoder), default_timeout=PATIENCE_S).run()
    assert not app.exception
    return app


def inputs(app: AppTest) -> dict[str, Any]:
    """Every input by its label."""
    found: list[Element] = [*app.number_input, *app.selectbox, *app.checkbox, *app.text_input]
    return {box.label: box for box in found}


def drawn(app: AppTest) -> Settings | str:
    settings: Settings | str = app.session_state["drawn"]
    return settings


def choose(app: AppTest, label: str, value: Any) -> None:
    inputs(app)[label].set_value(value).run()
    assert not app.exception


@pytest.mark.parametrize("name", list(methods()))
def test_the_form_has_the_words_and_defaults_of_the_fields(name: str) -> None:
    method = method_named(name)
    app = form(name)
    start, boxes = method.configure(method.encoder), inputs(app)
    shown = [info for info in infos(method.settings) if not info.fixed and info.matters(start)]
    assert sorted(boxes) == sorted(info.label for info in shown)
    for info in shown:
        box = boxes[info.label]
        about = box.help.partition("\n\n**")[0].replace("\n\n", "\n")  # before the words of the glossary
        assert about == info.describe(start, method.configure())
        assert info.help in about and info.range in about and info.source in about
        assert box.value == getattr(start, info.name)
        if info.choices and box.label != "Trained weights":
            assert box.options == list(info.choices.values())
        if info.range:
            low = info.low if info.low is not None else info.above
            high = info.high if info.high is not None else info.below
            assert box.min == low and box.max == high
    headings = {info.group for info in shown if not info.common}
    assert {box.value.strip("*") for box in app.markdown} == headings
    assert drawn(app) == start


@pytest.mark.parametrize("name", list(methods()))
def test_common_settings_stand_before_the_others(name: str) -> None:
    app, settings = form(name), method_named(name).settings
    common = {info.label for info in infos(settings) if info.common}
    inside = {
        box.label for kind in ("number_input", "selectbox", "checkbox") for box in app.expander[0].get(kind)
    }
    assert not common & inside and inside
    assert bool(common) is (name != default_method())  # whose settings are for experts


def test_the_form_gives_the_settings() -> None:
    app = form("emu", "use")
    choose(app, "Epochs", 2)
    choose(app, "Discriminator objective", "cross-entropy")
    assert drawn(app) == method_named("emu").configure("use", epochs=2, adversary="cross-entropy")


def test_settings_that_depend_on_others_come_and_go() -> None:
    app = form("emu", "hf:some/model")
    assert "Layers, from the output" not in inputs(app)
    choose(app, "Trained weights", "last-layers")
    assert "Layers, from the output" in inputs(app) and "LoRA rank (r)" not in inputs(app)
    choose(app, "Center loss weight (lambda)", 0.0)
    assert "Update rate of the centres" not in inputs(app) and "Center loss weight (lambda)" in inputs(app)


@pytest.mark.parametrize(("encoder", "lora"), [("use", False), ("e5-small", True), ("hf:some/model", True)])
def test_lora_is_for_transformers(encoder: str, lora: bool) -> None:
    options = inputs(form("emu", encoder))["Trained weights"].options
    assert any("LoRA" in option for option in options) == lora


@pytest.mark.parametrize("name", ["emu", "fmda", "bicvm"])
def test_the_papers_values_are_a_start_too(name: str) -> None:
    app, method = form(name), method_named(name)
    app.segmented_control(key=f"preset-{method.settings.__name__}").set_value("paper").run()
    assert drawn(app) == method.configure() != method.configure(method.encoder)


def test_without_a_paper_there_is_one_start() -> None:
    assert not form("head").get("button_group")


def test_where_nothing_was_measured_the_form_says_so() -> None:
    assert any("Nothing was tuned" in caption.value for caption in form("emu", "laser").caption)
    assert not any("Nothing was tuned" in caption.value for caption in form("emu", "use").caption)


def test_a_value_that_can_not_be_is_said() -> None:
    app = form("head", "use")
    choose(app, "Temperature", 0.0)
    assert drawn(app) == "Temperature must be a number above 0, not 0.0"
    assert "no encoder in" in str(drawn(form("emu", "run:nowhere")))


def test_lists_and_texts_are_typed() -> None:
    def script() -> None:
        from dataclasses import dataclass

        import streamlit as st

        from emu_app.forms.settings import draw_fields
        from emu_core.settings import Settings, infos, setting

        @dataclass(frozen=True)
        class Example(Settings):
            seeds: tuple[int, ...] = setting((0, 1), "Seeds.", label="Seeds", low=0)
            title: str = setting("a", "A title.", label="Title")
            limit: int | None = setting(None, "A limit.", label="Limit", low=1)

        st.session_state["drawn"] = draw_fields(Example(), infos(Example), "here")

    app = AppTest.from_function(script, default_timeout=PATIENCE_S).run()
    assert not app.exception
    assert app.session_state["drawn"] == {"seeds": (0, 1), "title": "a", "limit": None}
    choose(app, "Seeds", "3, 4,")
    choose(app, "Limit", 2)
    assert app.session_state["drawn"] == {"seeds": (3, 4), "title": "a", "limit": 2}
    choose(app, "Seeds", "many")
    assert app.session_state["drawn"]["seeds"] == "many"  # and the settings refuse it
