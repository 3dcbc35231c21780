"""What somebody who has never seen the app reads first."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.shell import model_name
from emu_app.shell.glossary import Word
from tests.support.app_pages import compare, explore, with_frame
from tests.support.app_words import texts, unexplained
from tests.support.workbench_pages import Trained, headline

TABS = (
    "Accuracy", "Forgetting", "Confused intents", "Changed neighbours", "Sentence triples", "Similarity", "Predict",
    "Take away", "Curves", "Epochs",
)  # fmt: skip


def bars(app: AppTest) -> str:
    return next(html.proto.body for html in app.get("html") if "emu-bars" in html.proto.body)


def test_the_headline_is_made_of_the_runs_facts(app: AppTest, trained: Trained) -> None:
    run = trained[0]
    explore(app)
    metrics, labelled = run.metrics(), run.data().labelled  # type: ignore[attr-defined]
    before, now = round(metrics.mean_base), round(metrics.mean_specialised)
    line = headline(app)
    assert line.startswith(f"Trained on {labelled} English questions, and without labels on questions in")
    assert f"of 100 new questions; before, {before}." in line and f" {now} of 100" in line
    for language in ("English", "German", "Japanese"):
        assert f'<th scope="row">{language}</th>' in bars(app)


def test_the_headline_names_two_encoders_that_are_not_before_and_after(
    app: AppTest, trained: Trained
) -> None:
    app.query_params["a"], app.query_params["b"] = f"run:{trained[0].name}", "use"
    explore(app)
    line = headline(app)
    assert "Trained" not in line and "USE multilingual finds the right intent for" in line
    assert f"; {trained[0].name}, " in line
    assert model_name.plain_name("use+e5-small") == "USE multilingual + E5 small multilingual"


def test_the_headline_says_that_a_run_learnt_from_other_data(trained: Trained, app: AppTest) -> None:
    other = compare(with_frame(trained[1].frame.iloc[:-3]), "Predict", run=trained[0].name)
    assert " of other data, " in headline(other)


def test_the_address_keeps_which_languages_are_measured(app: AppTest, trained: Trained) -> None:
    key = f"measured-languages-{trained[1].sha256()[:12]}"
    app.query_params[key] = "German"
    compare(app)
    assert " In German it now finds the right intent" in headline(app)
    assert app.multiselect(key=key).value == ["de"]


def test_examples_open_on_the_maps(app: AppTest, trained: Trained) -> None:
    explore(app)
    shown = [button for button in app.button if (button.key or "").startswith("example-")]
    assert shown
    text = shown[0].label.replace("\\", "")
    shown[0].click().run()
    assert not app.exception
    picked = app.session_state["explore-picked"]
    frame = trained[1].frame
    assert [frame["text"].iloc[row] for row in picked[1]] == [text]
    assert frame["language"].iloc[picked[1][0]] == "en"  # nobody's browser says another language
    assert any("Picked: 1 sentence" in line.value for line in app.markdown)


def test_an_example_that_is_not_drawn_is_typed(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_app.panels.maps.MAX_DRAWN_POINTS", 18)
    explore(app)
    shown = [button for button in app.button if (button.key or "").startswith("example-")]
    assert shown
    for button in shown:
        button.click().run()
        assert not app.exception
        typed, picked = app.session_state["try-sentence"], app.session_state["explore-picked"][1]
        assert bool(typed) != bool(picked)


def test_a_set_in_one_language_has_a_headline(app: AppTest, trained: Trained) -> None:
    frame = trained[1].frame
    alone = compare(with_frame(frame[frame["language"] == "de"]), "Predict", run=trained[0].name)
    assert "In German it now finds the right intent for" in headline(alone)


def test_encoders_that_agree_have_no_examples(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_app.workbench.first_screen.examples", lambda *_: [])
    explore(app)
    assert any("the same intents" in caption.value for caption in app.caption)


def test_a_newcomer_reads_what_was_trained_on_what_and_whether_it_helped(
    app: AppTest, trained: Trained
) -> None:
    explore(app)
    screen = " ".join([*(text for text, _ in texts(app)), bars(app)])
    metrics = trained[0].metrics()
    before, now = f"{metrics.mean_base:.0f}", f"{metrics.mean_specialised:.0f}"
    # What somebody would say who has read it.
    sentences = (
        f"It was trained on {trained[0].data().labelled} English questions.",  # type: ignore[attr-defined]
        f"It finds the right intent for {now} of 100 new questions; before, {before}.",
        "German, Japanese and English are measured by language: before and now.",
    )
    known = {word.casefold() for word in re.findall(r"\w+", screen)}
    own = {"it", "was", "is", "are", "and", "by", "measured"}
    for sentence in sentences:
        assert {word.casefold() for word in re.findall(r"\w+", sentence)} - known <= own, sentence


@pytest.mark.parametrize("tab", TABS)
def test_the_fields_terms_are_in_the_helps_and_not_on_the_screen(app: AppTest, tab: str) -> None:
    compare(app, tab)
    assert not unexplained(app)
    links = re.findall(
        r"glossary\?word=([\w-]+)", " ".join(str(getattr(part, "proto", "")) for part in app.main)
    )
    assert links and set(links) <= {word.anchor for word in Word}


@pytest.mark.parametrize("page", ["data", "train", "encoders"])
def test_no_page_about_a_run_has_a_term_without_a_help(app: AppTest, page: str) -> None:
    app.switch_page(f"views/{page}.py").run()
    names = (
        {"`use`"} if page == "encoders" else set()
    )  # what it is called in the command, which the page says
    assert not app.exception and set(unexplained(app)) == names


def test_an_answer_has_no_term_without_a_help(app: AppTest) -> None:
    explore(app)
    app.text_area(key="predict-typed-0").set_value("Where can I swim?").run()
    assert not app.exception and any("Similarity" in text for text, _ in texts(app))
    assert not unexplained(app)
