"""What somebody who has never seen the app reads first."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.shell import model_name
from emu_app.shell.glossary import Word
from emu_app.workbench import first_screen
from emu_core.reports.verdict import amounts, run_verdict
from emu_core.runs.run import Run
from tests.support.app_pages import compare, explore, predict, with_frame
from tests.support.app_words import texts, unexplained
from tests.support.verdicts import case
from tests.support.workbench_pages import Trained, bars, headline, linked

AMOUNTS = re.compile(r"[\d.]+ → [\d.]+ of \d+")
TABS = (
    "Right intents", "Similar sentences", "Forgetting", "Confused intents", "Changed neighbours",
    "Take away", "Curves", "Epochs",
)  # fmt: skip


def test_the_headline_is_made_of_the_runs_facts(app: AppTest, trained: Trained) -> None:
    run = trained[0]
    explore(app)
    metrics, labelled = run.metrics(), run.data().labelled  # type: ignore[attr-defined]
    line, verdict = headline(app), run_verdict(metrics)
    assert line.startswith(f"Trained on {labelled} English questions, and without labels on questions in")
    assert line.endswith(verdict.sentence)
    shown = " ".join(text for text, _ in texts(app))
    for words in (verdict.intents.languages, verdict.similar.languages, *verdict.unknown):
        assert words in shown
    for language in ("English", "German", "Japanese"):
        assert f'<th scope="row">{language}</th>' in bars(app)


@pytest.mark.parametrize(
    "kind", ["mixed", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("better", "worse", "tiny"))]
)
def test_the_header_has_the_words_and_figures_of_every_other_face(
    kind: str, own_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = case(kind).metrics  # the fifth run has none, so that the page measures it itself
    own_run.write("metrics.json", json.loads(json.dumps(metrics.to_json())))
    # The page measures its vectors itself, which are not those of the case.
    monkeypatch.setattr(first_screen, "comparison_verdict", lambda _: run_verdict(metrics))
    app = linked()
    explore(app)
    verdict = run_verdict(metrics)
    assert headline(app).endswith(verdict.sentence)
    shown = " ".join(text for text, _ in texts(app)).replace("\\", "")
    for words in (verdict.intents.languages, verdict.similar.languages, *verdict.unknown):
        assert words in shown
    told = {amount for line in verdict.lines for amount in AMOUNTS.findall(line.text)}
    for measure in verdict.measures:
        assert measure.changes is not None
        told |= {amounts(change) for change in measure.changes.by_language.values()}
    assert set(AMOUNTS.findall(f"{headline(app)} {shown}")) <= told
    for row in verdict.intents.table().rows[:-1]:
        assert f'<th scope="row">{row[0]}</th>' in bars(app)


def test_the_headline_names_two_encoders_that_are_not_before_and_after(
    app: AppTest, trained: Trained
) -> None:
    app.query_params["a"], app.query_params["b"] = f"run:{trained[0].name}", "use"
    explore(app)
    line = headline(app)
    assert "Trained" not in line and line.startswith("B: USE multilingual ")
    assert f"A: {trained[0].name} (" in line
    assert model_name.plain_name("use+e5-small") == "USE multilingual + E5 small multilingual"


@pytest.mark.slow
def test_the_headline_says_that_a_run_learnt_from_other_data(trained: Trained, app: AppTest) -> None:
    other = compare(with_frame(trained[1].frame.iloc[:-3]), "Take away", run=trained[0].name)
    assert " of other data, " in headline(other)


def test_the_address_keeps_which_languages_are_measured(app: AppTest, trained: Trained) -> None:
    key = f"measured-languages-{trained[1].sha256()[:12]}"
    app.query_params[key] = "German"
    compare(app)
    assert '<th scope="row">German</th>' in bars(app) and "English" not in bars(app)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_set_in_one_language_has_a_headline(app: AppTest, trained: Trained) -> None:
    frame = trained[1].frame
    alone = compare(with_frame(frame[frame["language"] == "de"]), "Take away", run=trained[0].name)
    assert "inds similar sentences " in headline(alone) and bars(alone).count("<tr") == 1


def test_encoders_that_agree_have_no_examples(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_app.workbench.first_screen.examples", lambda *_: [])
    explore(app)
    assert any("the same neighbours" in caption.value for caption in app.caption)


def test_a_newcomer_reads_what_was_trained_on_what_and_whether_it_helped(
    app: AppTest, trained: Trained
) -> None:
    explore(app)
    screen = " ".join([*(text for text, _ in texts(app)), bars(app)])
    verdict = run_verdict(trained[0].metrics())
    # What somebody would say who has read it.
    sentences = (
        f"It was trained on {trained[0].data().labelled} English questions.",  # type: ignore[attr-defined]
        f"It names the intents of {verdict.intents.amounts}.",
        f"It finds similar sentences for {verdict.similar.amounts}.",
        "German, Japanese and English are by language: before, after.",
    )
    known = {word.casefold() for word in re.findall(r"\w+", screen)}
    own = {"it", "was", "is", "are", "and", "by", "for"}
    for sentence in sentences:
        assert {word.casefold() for word in re.findall(r"\w+", sentence)} - known <= own, sentence


@pytest.mark.slow
@pytest.mark.parametrize("tab", TABS)
def test_the_fields_terms_are_in_the_helps_and_not_on_the_screen(app: AppTest, tab: str) -> None:
    compare(app, tab)
    assert not unexplained(app)
    links = re.findall(
        r"glossary\?word=([\w-]+)", " ".join(str(getattr(part, "proto", "")) for part in app.main)
    )
    assert links and set(links) <= {word.anchor for word in Word}


@pytest.mark.slow
@pytest.mark.parametrize("page", ["data", "train", "try", "encoders"])
def test_no_page_about_a_run_has_a_term_without_a_help(app: AppTest, page: str) -> None:
    app.switch_page(f"views/{page}.py").run()
    names = (
        {"`use`"} if page == "encoders" else set()
    )  # what it is called in the command, which the page says
    assert not app.exception and set(unexplained(app)) == names


@pytest.mark.slow
def test_an_answer_has_no_term_without_a_help(app: AppTest) -> None:
    predict(app)
    app.text_area(key="predict-typed-0").set_value("Where can I swim?").run()
    assert not app.exception and any("Similarity" in text for text, _ in texts(app))
    assert not unexplained(app)
