"""The class page and its tasks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache
from emu_app.work.lesson import Spoilt, right_intents_of, rounds
from emu_core.runs.run import Run
from tests.support.app_pages import press, with_data
from tests.support.at_once import AtOnce
from tests.support.small_run import small_run

INTENTS = ["pool", "pool", "bar", "bar", "taxi", "taxi"]
SENTENCES = pd.DataFrame({"intent": INTENTS, "id": list("abcdef"), "language": "en"})


def unit(vectors: list[list[float]]) -> np.ndarray:
    """Return the vectors at length 1."""
    found = np.array(vectors, dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_rounds_show_where_the_words_mislead_and_where_they_do_not() -> None:
    misled = unit([[1, 0.1, 0], [0, 1, 0], [1, 0, 0], [0, 0.2, 1], [0.5, 0, 1], [0, 0, 1]])
    told = unit([[1, 0, 0], [1, 0.1, 0], [0, 1, 0], [0.1, 1, 0], [0, 0, 1], [0, 0.1, 1]])
    found = rounds(SENTENCES, {"A": misled, "B": told})
    assert [SENTENCES["intent"][one.row] for one in found] == ["pool", "bar", "taxi"]
    for one in found:
        friend = SENTENCES["intent"][one.others[one.right]]
        stranger = SENTENCES["intent"][one.others[1 - one.right]]
        assert friend == SENTENCES["intent"][one.row] != stranger
        for name, of in (("A", misled), ("B", told)):
            assert one.cosines[name] == pytest.approx([of[one.row] @ of[other] for other in one.others])
        assert one.is_right("B")
    assert not found[0].is_right("A")
    assert {one.right for one in found} == {0, 1}  # not always the first of the two


def test_sentences_of_one_intent_or_without_a_second_are_no_rounds() -> None:
    vectors = {"A": np.eye(6, dtype=np.float32)}
    assert rounds(SENTENCES.assign(intent="pool"), vectors) == ()
    assert rounds(SENTENCES.assign(intent=list("abcdef")), vectors) == ()
    assert rounds(SENTENCES.assign(id="a"), vectors) == ()  # one sentence in six versions


def test_wrong_labels_name_wrong_intents_and_those_without_labels_are_not_asked() -> None:
    random = np.random.default_rng(1)
    centres = np.eye(4, 16)
    which = np.arange(96) % 4
    vectors = unit((centres[which] + random.normal(0, 0.02, (96, 16))).tolist())
    sentences = pd.DataFrame(
        {
            "intent": np.array(["pool", "bar", "taxi", "new"])[which],
            "id": [str(number) for number in range(96)],
            "language": np.where(np.arange(96) < 64, "en", "de"),
        }
    )
    is_labelled = ((np.arange(96) < 64) & (which < 3)).astype(bool)
    right = right_intents_of(Spoilt(0), vectors, sentences, is_labelled, ~is_labelled)
    assert right == {"de": (24, 24)}  # of three intents
    assert right_intents_of(Spoilt(0, 1), vectors, sentences, is_labelled, ~is_labelled) == {"de": (24, 24)}
    spoilt, asked = right_intents_of(Spoilt(100), vectors, sentences, is_labelled, ~is_labelled)["de"]
    assert asked == 24 and spoilt < 24


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    run, _, file = small_run(tmp_path_factory.mktemp("class") / "runs")
    return run, file


@pytest.fixture
def worker() -> AtOnce:
    return AtOnce()


@pytest.fixture
def lesson(trained: tuple[Run, Path], worker: AtOnce, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The class page with the data of a run, which has not run yet."""
    run, file = trained
    for name in ("background", "mapper", "upload_reader"):
        monkeypatch.setattr(cache, name, lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    app = with_data(file.read_bytes(), file.name)
    return app.switch_page("views/lesson.py")


def test_the_path_leads_from_judging_to_the_sum(lesson: AppTest) -> None:
    app = lesson.run()
    assert not app.exception
    count = len(app.radio)
    assert count == 5 and {radio.value for radio in app.radio} == {None} and not app.metric
    for radio in app.radio:
        radio.set_value(0)
    app.run()
    assert [metric.label for metric in app.metric] == ["You", "USE multilingual", "small"]
    assert app.metric[0].value == "2 of 5"  # where the right one is the first
    press(app, "Next: Train")
    verdict = "ames the intents"
    assert app.header[0].value == "What happens to German, if the labels are English?"
    assert not any(verdict in paragraph.value for paragraph in app.markdown)  # until something is expected
    app.radio[0].set_value("More often").run()
    assert any(verdict in paragraph.value for paragraph in app.markdown)
    press(app, "Next: Explain")
    assert [heading.value for heading in app.subheader] == ["USE multilingual", "small"]
    press(app, "Next: Break")
    assert not app.metric
    app.toggle(key="shown").set_value(True).run()
    assert {metric.label for metric in app.metric} == {"English", "German", "Japanese"}
    assert {metric.delta for metric in app.metric} == {"0"}  # no label is wrong yet
    press(app, "Next: Sum up")
    assert not app.exception
    said = " ".join(paragraph.value for paragraph in app.markdown)
    assert verdict in said and "more often" in said.lower() and "you guessed 50" in said
    assert "b=run%3Asmall" in app.code[0].value and "step=Judge" in app.code[0].value


def test_a_new_start_forgets_the_answers(lesson: AppTest) -> None:
    app = lesson.run()
    app.radio[0].set_value(1).run()
    assert any("You" in paragraph.value for paragraph in app.markdown)
    press(app, "Start again")
    assert app.radio[0].value is None
    assert not any("You" in paragraph.value for paragraph in app.markdown)


def test_what_was_judged_stays_with_its_sentences(lesson: AppTest) -> None:
    app = lesson.run()
    asked = [radio.options for radio in app.radio]
    for radio in app.radio:
        radio.set_value(1)
    app.run()
    chosen = app.selectbox(key="choose-data").value
    app.selectbox(key="choose-data").set_value("demo").run()
    assert not app.exception
    assert len(app.radio) == 5 and not any(radio.options in asked for radio in app.radio)
    assert {radio.value for radio in app.radio} == {None} and not app.metric
    app.selectbox(key="choose-data").set_value(chosen).run()
    assert [radio.options for radio in app.radio] == asked
    assert {radio.value for radio in app.radio} == {1} and app.metric[0].label == "You"


def test_what_the_last_steps_ask_is_learnt_ahead_one_after_another(lesson: AppTest, worker: AtOnce) -> None:
    def learnt() -> set[str]:
        return {key for key in worker.asked if key.startswith("lesson")}

    worker.endless = "lesson"  # while one waits, no second does
    app = lesson.run()
    app.radio[0].set_value(1).run()
    assert len(learnt()) == 1
    worker.endless = "none"
    app.run()
    ahead = learnt()
    press(app, "Next: Train")
    press(app, "Next: Explain")
    press(app, "Next: Break")
    app.toggle(key="shown").set_value(True).run()
    for key in ("wrong", "each"):
        for option in app.segmented_control(key=key).options:
            app.segmented_control(key=key).set_value(option).run()
            assert not app.exception and app.metric
    assert learnt() == ahead


def test_a_model_that_still_learns_shows_how_far_it_is_and_then_what_it_names(
    lesson: AppTest, worker: AtOnce
) -> None:
    lesson.query_params.update({"step": "Break", "shown": "true"})
    worker.endless = "lesson"
    app = lesson.run()
    assert not app.metric and [bar.proto.text for bar in app.get("progress")] == [
        "Learning from these labels"
    ]
    worker.endless = "none"
    app.run()
    assert app.metric and not app.get("progress")


def test_large_type_hides_the_bar(lesson: AppTest) -> None:
    lesson.query_params["large"] = "true"
    app = lesson.run()
    assert app.toggle(key="large").value
    assert any("font-size: 150%" in part.proto.body for part in app.get("html"))
