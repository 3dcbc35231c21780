"""What the address keeps of the forms, without a browser."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.shell import address
from emu_core.methods.registry import methods, methods_that_need
from emu_core.training.method import Needs
from tests.support.app_pages import new_session
from tests.support.bound_widgets import bound, unkept

FROM_SCRATCH = methods_that_need(Needs.PARALLEL_TEXT)
FORMS = [
    ("pretrain", "pretrain-method", list(FROM_SCRATCH), "pretrain-seed"),
    ("train", "method", [name for name in methods() if name not in FROM_SCRATCH], "train-seed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "param", "names", "seed"), FORMS)
def test_every_setting_of_a_form_stays_in_its_place(
    root: Path, page: str, param: str, names: list[str], seed: str
) -> None:
    for name in names:
        app = new_session(page)
        app.query_params[param] = name
        app.run()
        assert not app.exception
        assert seed in bound(app)
        assert any(f"-{name}-" in key for key in bound(app))  # a setting of the method
        assert unkept(app) == set(), name


def test_the_settings_of_a_measurement_stay_in_their_place(root: Path) -> None:
    app = new_session("bench").run()
    assert any(name.startswith("seeds-bench-") for name in bound(app))
    assert unkept(app) == set()


def draw_chooser() -> None:
    from emu_app.shell.address import linked

    linked("method", "Method", ["first", "second"])


def test_a_choice_comes_with_a_run_of_the_page_and_not_with_one_of_a_fragment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = AppTest.from_function(draw_chooser).run()
    with monkeypatch.context() as patch:
        run_of_a_fragment = SimpleNamespace(fragment_ids_this_run=["of the maps"])
        patch.setattr(address, "get_script_run_ctx", lambda: run_of_a_fragment)
        assert app.selectbox[0].set_value("second").run().query_params["method"] == "first"
    assert app.selectbox[0].set_value("second").run().query_params["method"] == "second"


def draw_links() -> None:
    import streamlit as st

    from emu_app.shell.address import linked, parameters, take_address

    take_address()
    if st.session_state.get("is_cut"):
        st.stop()
    linked("watched", "Run", ["first", "second", "third"])
    st.json(parameters())  # a link to another page
    st.json(parameters(watched=st.session_state.get("trained", "third")))  # a link that names a run


def test_a_link_that_carries_an_old_choice_makes_none() -> None:
    app = AppTest.from_function(draw_links).run()
    assert app.query_params["watched"] == "first"
    app.selectbox[0].set_value("second").run()
    app.query_params["watched"] = "first"  # as a link says that was drawn before
    assert app.run().selectbox[0].value == "second"
    assert app.query_params["watched"] == "second"


def test_a_link_that_names_a_choice_makes_it_though_others_carried_it_before() -> None:
    app = AppTest.from_function(draw_links).run()
    app.session_state["trained"] = "second"
    app.selectbox[0].set_value("second").run()
    app.selectbox[0].set_value("first").run()
    app.session_state["choices-page"] = "another"  # from which the link leads here
    app.query_params["watched"] = "second"
    assert app.run().selectbox[0].value == "second"


def test_a_new_session_takes_what_its_address_names() -> None:
    app = AppTest.from_function(draw_links)
    app.query_params["watched"] = "second"
    assert app.run().selectbox[0].value == "second"


def test_a_click_on_a_link_counts_though_it_ends_a_run_that_has_not_drawn_it_again() -> None:
    app = AppTest.from_function(draw_links).run()
    app.session_state["trained"] = "second"
    app.selectbox[0].set_value("second").run()
    app.selectbox[0].set_value("first").run()  # "second" was chosen before, and links carried it
    app.session_state["is_cut"] = True
    app.run()
    app.session_state["is_cut"] = False
    app.session_state["choices-page"] = "another"
    app.query_params["watched"] = "second"
    assert app.run().selectbox[0].value == "second"
