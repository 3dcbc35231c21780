"""The Split page, and FMDA on the Train page, without a browser, on runs that were really trained."""

import base64
import json
import re
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.panels import run_table
from emu_app.views.split import FEW_TEMPLATES, PART_NAMES, kind_of, looks_at, parts_of
from emu_app.work import cache, jobs, mapping
from emu_app.work.jobs import JobManager
from emu_core import train
from emu_core.api import split
from emu_core.api.split import (
    EACH,
    TEMPLATES,
    Pool,
    SplitSentence,
    Token,
    language_pairs,
    pairs_of,
    read_pool,
    shared,
    split_sentence,
    template_sample,
)
from emu_core.charts.attention import TokenKind
from emu_core.data.sets import LabelledSet
from emu_core.data.slots.utterances import Utterance, parse_annotated, utterances
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.projection import Projection, aligned, project
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.parts import Part
from emu_core.methods.registry import configure, methods
from emu_core.runs.config import Plan
from emu_core.runs.run import Run, RunState, Status, create_run
from emu_core.runs.stored_data import LabelledData
from tests.support.app_pages import choose_method, new_session
from tests.support.app_words import unexplained
from tests.support.at_once import AtOnce
from tests.support.fmda_set import fmda_set
from tests.support.tiny_transformer import tiny_transformer

PATIENCE_S = 60.0
PAIRS = [("en", "de"), ("en", "es")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: one of FMDA, one of its baseline, and one of Emu that only says so."""
    folder = tmp_path_factory.mktemp("split")
    labelled, encoder = fmda_set(), f"hf:{tiny_transformer(folder / 'tiny')}"
    for method in ("fmda", "meaning-language"):
        train(
            labelled, out=folder / "runs" / method, method=method, encoder=encoder, pairs=PAIRS, device="cpu",
            config=configure(method, epochs=2, batch_size=16),
        )  # fmt: skip
    config = Plan("emu", labelled.name, {}, encoder=encoder, train_languages=("en",))
    emu = create_run(folder / "runs" / "emu", config, LabelledData(labelled))
    emu.write_status(Status(state=RunState.FINISHED, started_at=1.0))
    return folder / "runs"


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AtOnce:
    worker = AtOnce()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "mapper", lambda: worker)
    monkeypatch.setattr(mapping, "project", lambda vectors, *_, **__: project(vectors, Projection.PCA))
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "none"))
    return worker


def opened(frame: pd.DataFrame, page: str) -> AppTest:
    app = new_session().run()
    app.file_uploader[0].set_value([("slots.csv", frame.to_csv(index=False).encode(), "")])
    app.run()
    assert not app.error
    app.switch_page(f"views/{page}.py").run()
    assert not app.exception
    return app


@pytest.fixture
def app(root: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The Split page with the runs and their own data; its run is FMDA's."""
    monkeypatch.setenv("EMU_RUNS", str(root))
    app = opened(fmda_set().frame, "split")
    app.selectbox(key="choose-run").set_value("fmda").run()
    return app


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["split-tab"] = name
    app.run()
    assert not app.exception
    return app


def box(app: AppTest, label: str) -> Any:
    return next(box for box in app.selectbox if box.label == label)


def encoder_of(root: Path, name: str = "fmda") -> DisentangledEncoder:
    encoder = load_encoder(f"run:{root / name}")
    assert isinstance(encoder, DisentangledEncoder)
    return encoder


def figure(app: AppTest) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(app.get("plotly_chart")[0].proto.spec)
    return spec


def numbers(array: Any) -> list[float]:
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).tolist()
    return list(array)


def written(app: AppTest) -> list[str]:
    """The page's markdown as a person reads it."""
    return [element.value.replace("\\", "") for element in app.markdown]


# ---------------------------------------------------------------------------------------------- the run


def test_without_a_run_the_page_says_what_to_do() -> None:
    app = opened(fmda_set().frame, "split")
    assert "Train one with FMDA" in app.info[0].value
    link = app.get("page_link")[-3].proto  # the last two lead to the class and the glossary
    assert link.page == "train" and "method=fmda" in link.query_string
    assert not app.get("plotly_chart")


@pytest.mark.slow
def test_runs_that_split_nothing_are_not_offered(app: AppTest) -> None:
    assert sorted(app.selectbox(key="choose-run").options) == ["fmda", "meaning-language"]


@pytest.mark.slow
def test_a_damaged_encoder_is_said_in_a_sentence(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(root / "fmda", tmp_path / "runs" / "bad")
    for weights in (tmp_path / "runs" / "bad" / "encoder").rglob("*.safetensors"):
        weights.write_bytes(b"no")
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    app = opened(fmda_set().frame, "split")
    assert "/bad/encoder" in app.error[0].value.replace("\\", "")


# ----------------------------------------------------------------------------------------- one utterance


@pytest.mark.slow
def test_the_picture_is_the_encoders_own_attention(app: AppTest, root: Path) -> None:
    text = "is the pool find open ?"
    row = next(row for row in box(app, "Sentence").options if row == text)
    box(app, "Sentence").select(row).run()
    spec = figure(app)
    drawn: dict[str, dict[int, tuple[str, float]]] = {"x": {}, "x2": {}}
    for trace in spec["data"]:
        for place, share in zip(numbers(trace["y"]), numbers(trace["x"]), strict=True):
            drawn[trace["xaxis"]][int(place)] = (trace["name"], share)
    attention = encoder_of(root).attention(text)
    words = [name for name, *_ in attention]
    assert words == ["[CLS]", "is", "the", "pool", "find", "open", "?", "[SEP]"]
    assert spec["layout"]["yaxis"]["ticktext"] == words
    for axis, at in (("x", 1), ("x2", 2)):
        assert [drawn[axis][place][1] for place in range(len(words))] == pytest.approx(
            [100 * shares[at] for shares in attention]
        )
    kinds = [drawn["x"][place][0] for place in range(len(words))]
    template, slot, added = (kind.value for kind in (TokenKind.TEMPLATE, TokenKind.SLOT, TokenKind.ADDED))
    assert kinds == [added, template, template, slot, slot, template, template, added]
    assert "template: is the [place] open ?" in app.caption[2].value.replace("\\", "")


@pytest.mark.slow
def test_the_language_part_says_what_its_layer_says(app: AppTest, root: Path) -> None:
    encoder, text = (
        encoder_of(root),
        fmda_set().select(languages=["en"], splits=["test"]).frame["text"].iloc[0],
    )
    logits = encoder.head.language_logits(encoder.head(*states_of(encoder, text)).language)[0]
    shares = dict(zip(encoder.head.languages, np.exp(logits.detach().numpy()), strict=True))
    total = sum(shares.values())
    said = next(line for line in written(app) if line.startswith("Says: "))
    for code, name in (("en", "English"), ("de", "German"), ("es", "Spanish")):
        assert f"{name} {100 * shares[code] / total:.0f} %" in said


def states_of(encoder: DisentangledEncoder, text: str) -> tuple[Any, Any]:
    features = encoder.collate(encoder.token_ids([text]))
    return encoder.base.states(features), features["attention_mask"].bool()


@pytest.mark.slow
@pytest.mark.parametrize("languages", [[], ["de"]])
def test_the_nearest_come_first_in_every_column(app: AppTest, root: Path, languages: list[str]) -> None:
    app.multiselect[0].set_value(languages).run()
    frame = fmda_set().select(splits=["test"]).frame
    parts = encoder_of(root).parts(frame["text"].tolist())
    query = next(i for i, code in enumerate(frame["language"]) if code == "en")
    lines = written(app)
    starts = [lines.index(f"**{PART_NAMES[part]}**", lines.index("**[CLS]**")) for part in Part]
    for start, vectors in zip(starts, parts.values(), strict=True):
        cosines = [
            float(vectors[query] @ other / np.linalg.norm(vectors[query]) / np.linalg.norm(other))
            for other in vectors
        ]
        allowed = [
            i for i, row in frame.iterrows()
            if i != query and (not languages or row["language"] in languages)
        ]  # fmt: skip
        best = sorted((cosines[i] for i in allowed), reverse=True)[:5]
        shown = [
            float(found)
            for line in lines[start + 1 : start + 6]
            for found in re.findall(r"gray\[(.*?) ·", line)
        ]
        assert shown == pytest.approx(best, abs=6e-4)
        assert all("German" in line for line in lines[start + 1 : start + 6]) or not languages
    nearest = lines[starts[0] + 1]
    assert nearest.split("  \n")[0] in set(frame["text"])


def test_the_baseline_has_no_attention_and_says_so(app: AppTest) -> None:
    app.selectbox(key="choose-run").set_value("meaning-language").run()
    assert not app.exception
    assert not app.get("plotly_chart")
    assert any("has no attention over words" in info.value for info in app.info)
    lines = written(app)
    shown = [part for part in Part if f"**{PART_NAMES[part]}**" in lines]
    assert shown == [Part.CLS, Part.MEAN, Part.LANGUAGE, Part.MEANING]


def test_the_order_of_the_embeddings_is_the_encoders(root: Path) -> None:
    for method in ("fmda", "meaning-language"):
        names = encoder_of(root, method).part_names
        assert names == parts_of(np.zeros((len(names), 3, 2), dtype=np.float32))


@pytest.mark.slow
def test_a_sentence_is_typed_with_its_slots(app: AppTest) -> None:
    app.session_state["split-source"] = "Typed"
    app.run()
    assert not app.get("plotly_chart")  # nothing is typed yet
    app.text_input(key="split-typed").set_value("where is [place : the pool").run()
    assert "is not closed" in app.error[0].value
    app.text_input(key="split-typed").set_value(" when does [place : the pool] open ? ").run()
    assert not app.error and not app.exception
    names = {trace["name"]: numbers(trace["y"]) for trace in figure(app)["data"] if trace["xaxis"] == "x"}
    assert names[TokenKind.SLOT.value] == [3, 4]  # after [CLS], when, does
    assert not any("same intent" in line for line in written(app))  # nobody knows its intent


def test_progress_is_shown_while_sentences_are_split(app: AppTest, worker: AtOnce) -> None:
    worker.never = True
    worker.outcomes.clear()
    app.session_state["split-source"] = "Typed"
    app.run()
    app.text_input(key="split-typed").set_value("the hotel").run()
    assert app.get("progress")[0].proto.text.startswith("Opening the run's encoder")
    assert app.get("progress")[0].proto.value == 25


def test_a_language_that_the_run_was_not_trained_on_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_RUNS", str(root))
    frame = fmda_set().frame.replace({"language": {"es": "fr"}})
    app = opened(frame, "split")
    box(app, "Language").set_value("fr").run()
    assert any("was not trained on French" in info.value for info in app.info)


# ----------------------------------------------------------------------------------- numbers and maps


def test_the_numbers_are_those_of_the_run(app: AppTest, root: Path) -> None:
    tab(app, "Evaluation of the parts")
    table = app.dataframe[0].value.set_index("Embedding")
    measured = Run(root / "fmda").metrics().parts
    assert list(table.index) == [PART_NAMES[part] for part in Part]
    for part in Part:
        for pair, value in measured.embeddings[part].translation.items():
            assert table.loc[PART_NAMES[part], pair.replace("-", " → ")] == value
        for code, value in measured.embeddings[part].template.items():
            assert table.loc[PART_NAMES[part], f"Templates {code}"] == value
        assert table.loc[PART_NAMES[part], "Language probe"] == measured.embeddings[part].probe
    assert table.shape == (6, 4 + 3 + 1)
    [count], [made] = (set(of.values()) for of in (measured.counts.translation, measured.counts.template))
    asked = f"{count} sentences for each language pair; {made} sentences for the templates of each language"
    assert asked in app.caption[-1].value


@pytest.mark.slow
@pytest.mark.parametrize("name", ["One utterance", "Evaluation of the parts", "Maps"])
def test_no_term_is_without_a_help(app: AppTest, name: str) -> None:
    assert not unexplained(tab(app, name))


@pytest.mark.slow
def test_a_map_shows_both_sentences_of_every_pair(app: AppTest, root: Path) -> None:
    tab(app, "Maps")
    assert box(app, "Languages").options == [
        "English and German",
        "English and Spanish",
        "German and Spanish",
    ]
    drawn = figure(app)
    assert [note["text"] for note in drawn["layout"]["annotations"]][:2] == ["Language", "Meaning"]
    test = fmda_set().select(languages=["en", "de"], splits=["test"]).frame
    parts = encoder_of(root).parts(test["text"].tolist())
    expected = aligned(*(project(parts[part], Projection.PCA) for part in (Part.MEANING, Part.LANGUAGE)))
    places = sorted(
        (round(x, 3), round(y, 3))
        for trace in drawn["data"]
        if trace.get("xaxis") == "x2"
        for x, y in zip(numbers(trace["x"]), numbers(trace["y"]), strict=True)
        if x is not None
    )
    assert len(places) == len(test)
    assert np.allclose(
        places, sorted((round(float(x), 3), round(float(y), 3)) for x, y in expected), atol=2e-3
    )


@pytest.mark.slow
def test_a_few_templates_are_coloured_by_template(app: AppTest) -> None:
    app.session_state["split-map-kind"] = FEW_TEMPLATES
    tab(app, "Maps")
    assert app.info[0].value.startswith("No intent has 4 sentences with different templates")
    everything = opened(fmda_set().frame.replace({"intent": {"intent1": "intent0"}}), "split")
    everything.selectbox(key="choose-run").set_value("fmda").run()
    everything.session_state["split-map-kind"] = FEW_TEMPLATES
    tab(everything, "Maps")
    legend = [trace["name"] for trace in figure(everything)["data"] if trace.get("legend") == "legend"]
    assert sorted(legend) == [
        f"{template} (5)"
        for template in (
            "is the [place] open ?",
            "the [place] ?",
            "when does the [place] open ?",
            "where is the [place]",
        )
    ]
    assert "20 sentences of 4 templates" in everything.caption[2].value


def test_rare_templates_share_a_colour() -> None:
    many = [Utterance(*parse_annotated(f"{word} [place : x]"), "i", word, "en") for word in "abcdefghij"]
    points = split.points_of([*many, *many[3:]])
    assert points["template"].nunique() == split.MAX_NAMED_TEMPLATES + 1
    assert set(points["template"][:3]) == {split.OTHER_TEMPLATES}
    assert max(points["template"]) == split.OTHER_TEMPLATES  # the last of the legend
    german = Utterance(*parse_annotated("das ist a [place : y]"), "i", "a", "de")
    assert split.points_of([many[0], german])["template"].tolist() == ["a [place]", "a [place]"]
    assert split.points_of([Utterance("plain", (), "i", "a", "en")])["template"].tolist() == [
        split.OTHER_TEMPLATES
    ]


# ---------------------------------------------------------------------------------- what is underneath


def pool_of(*annotated: str, language: str = "en", intent: str = "music", ids: bool = True) -> Pool:
    found = tuple(
        Utterance(*parse_annotated(text), intent, str(at) if ids else "", language)
        for at, text in enumerate(annotated)
    )
    return Pool("key", pd.DataFrame(), found, 0, len(found))


def test_templates_are_filled_up_with_values_that_their_slots_have_elsewhere() -> None:
    values = ["a", "b", "c", "d", "e", "f"]
    own = [f"play [song : {value}]" for value in values]
    once = [f"{start} [song : a]" for start in ("start", "put on", "i want", "give me")]
    alone = ["stop [thing : it]"]  # its slot has no other value
    sentences, made = template_sample(pool_of(*alone, *own, *once), "en", "music")
    assert len(sentences) == TEMPLATES * EACH and made == 3 * (EACH - 1)
    templates = [one.template for one in sentences]
    assert {templates.count(template) for template in templates} == {EACH}
    assert "play [song]" in templates and "stop [thing]" not in templates
    assert len({one.text for one in sentences}) == len(sentences)


def test_translations_are_found_by_id() -> None:
    english, german = pool_of("one", "two", "three"), pool_of("eins", "zwei", language="de")
    both = Pool("key", pd.DataFrame(), (*german.utterances, *english.utterances), 0, 5)
    assert language_pairs(both, 2) == [("en", "de")] and language_pairs(both, 3) == []
    assert [both.utterances[row].text for row in pairs_of(both, "en", "de")] == ["one", "two", "eins", "zwei"]
    assert language_pairs(pool_of("one", ids=False), 1) == []


def test_what_two_utterances_share_is_said_the_closest_first() -> None:
    def one(annotated: str, intent: str = "a", number: str = "1", language: str = "en") -> Utterance:
        return Utterance(*parse_annotated(annotated), intent, number, language)

    mine = one("wake me at [time : five] on [date : friday]")
    assert shared(mine, one("weck mich", language="de")) == "translation"
    assert (
        shared(mine, one("Wake me at [time : six] on [date : Friday]", number="2"))
        == "same template, same date: friday"
    )
    assert shared(mine, one("sleep till [time : Five]", "b", "2")) == "same time: five"
    assert shared(mine, one("sleep", "a", "2")) == "same intent"
    assert shared(mine, one("sleep", "b", "2")) == ""
    assert (
        shared(one("no slot"), one("No slot", "b", "2")) == ""
    )  # all of it is template, so that says nothing
    assert shared(Utterance("typed", (), "", "", ""), Utterance("x", (), "", "", "de")) == ""


def test_annotations_that_do_not_fit_are_counted_and_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_RUNS", str(root))
    frame = fmda_set().frame
    first = frame.index[(frame["split"] == "test") & (frame["language"] == "en")][0]
    frame.loc[first, "annotated"] = "where is [place : somewhere else]"
    frame.loc[first + 1, "annotated"] = "where [is"
    app = opened(frame, "split")
    assert app.warning[0].value.startswith("2 annotations can't be read, or")
    assert "no slots are marked" in app.caption[2].value


def test_a_large_set_is_cut_with_translations_kept_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "MAX_POOL", 20)
    found = read_pool("some", fmda_set().frame)
    assert 18 <= len(found.frame) <= 20 and found.total == len(fmda_set())
    assert set(found.frame.groupby("id").size()) == {3}
    assert found.texts == found.frame["text"].tolist()


def test_a_token_is_in_a_slot_where_they_overlap(root: Path) -> None:
    encoder = encoder_of(root)
    [one, *_] = utterances(LabelledSet(fmda_set().frame, "x"), "en")
    tokens = split_sentence(encoder, one.text).tokens
    assert [one.text[token.start : token.end] for token in tokens if not token.is_added] == one.text.split()
    assert [token.word for token in tokens if kind_of(token, one) is TokenKind.SLOT] == ["hotel"]
    assert sum(token.template for token in tokens) == pytest.approx(1)


# ---------------------------------------------------------------------------------------- the Train page


def train_page(frame: pd.DataFrame, method: str = "fmda") -> AppTest:
    app = opened(frame, "train")
    choose_method(app, method)
    assert not app.exception
    return app


def why_not(app: AppTest) -> str:
    start = next(button for button in app.button if button.label == "Start the run")
    assert start.disabled == bool(app.warning)
    return app.warning[0].value.replace("\\", "") if app.warning else ""


@pytest.mark.slow
def test_fmda_asks_for_translations_and_not_for_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    manager = JobManager(tmp_path / "runs", (sys.executable, "-c", "pass"))  # trains nothing
    monkeypatch.setattr(jobs, "_job_manager", lambda root: manager)
    app = train_page(fmda_set().frame)
    assert [box.label for box in app.multiselect] == ["Translations between"]
    assert app.multiselect[0].value == PAIRS
    assert app.selectbox(key="encoder-of-tokens").value == "e5-small"
    assert why_not(app) == ""
    assert all(box.key != "preset" for box in app.get("button_group"))  # there is one start for all encoders
    app.multiselect[0].set_value([("de", "es")])
    next(box for box in app.checkbox if box.label == "In two stages").check()
    next(box for box in app.number_input if box.label == "Residual reconstruction").set_value(0.5).run()
    next(button for button in app.button if button.label == "Start the run").click().run()
    assert not app.exception
    run = Run(tmp_path / "runs" / "fmda-e5-small-1")
    manager.wait(run, PATIENCE_S)
    config = run.config()
    assert config.pairs == (("de", "es"),) and config.train_languages == ("de", "es")
    changed = {name: config.hyperparameters[name] for name in ("two_stage", "residual_weight")}
    assert changed == {"two_stage": True, "residual_weight": 0.5}
    assert config.unlabelled_languages == ()


@pytest.mark.slow
def test_an_encoder_without_token_states_is_refused_with_the_mend() -> None:
    app = train_page(fmda_set().frame)
    app.selectbox(key="encoder-of-tokens").set_value("use").run()
    assert "choose E5 small multilingual, or a transformer" in why_not(app)
    choose_method(app, "emu")
    assert app.selectbox(key="encoder").value == "use" and why_not(app) == ""


def wrong(where: int, column: str, value: str) -> pd.DataFrame:
    frame = fmda_set().frame
    frame.loc[where, column] = value
    return frame


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (fmda_set().frame.assign(id=""), "en row 1: a sentence without id"),
        (fmda_set().frame.assign(annotated=""), "has a slot"),
        (wrong(2, "annotated", "where is the [place : elsewhere]"), "en row 3: the annotated sentence"),
        (wrong(0, "annotated", "where is the [place : hotel"), "en row 1:"),
        (fmda_set(("en",)).frame, "every sentence to train on is in English"),
    ],
    ids=["no ids", "no slots", "another text", "no bracket", "one language"],
)
def test_data_that_fmda_can_not_learn_from_is_said_before_the_start(frame: pd.DataFrame, said: str) -> None:
    assert said in why_not(train_page(frame))


@pytest.mark.slow
def test_no_pair_is_said_too() -> None:
    app = train_page(fmda_set().frame, "meaning-language")
    app.multiselect[0].set_value([]).run()
    assert why_not(app) == "Choose two languages whose translations are used."


def test_a_run_that_may_end_early_says_so() -> None:
    status = Status(state=RunState.RUNNING, phase="training", step=3, steps=60, epoch=2, epochs=30)
    assert run_table.progress_line(status) == "Training: step 3 of 60, epoch 2 of 30, about 0 s left"
    quick = replace(status, sentences_per_s=1234.4)
    assert ", 1,234 sentences a second, about" in run_table.progress_line(quick)
    patient = Plan("fmda", "tiny", {"patience": 3})
    line = run_table.progress_line(status, patient)
    assert line == "Training: step 3 of at most 60, epoch 2 of at most 30, at most 0 s left"
    now = time.time()
    encoding = Status(
        state=RunState.RUNNING, phase="encoding", done=0.4, phase_since=now - 2_000, updated_at=now
    )
    assert run_table.progress_line(encoding) == "Encoding every sentence once, about 50 min left"
    assert encoding.progress == 0.4
    slow = replace(encoding, sentences_per_s=0.25)
    assert ", 0.2 sentences a second, about" in run_table.progress_line(slow)
    waited = replace(encoding, phase_since=now - 3_200, updated_at=now - 1_200)
    assert run_table.progress_line(waited) == "Encoding every sentence once, about 30 min left"
    late = replace(encoding, phase_since=now - 9_000, updated_at=now - 7_000)
    for other in (
        replace(encoding, done=0.0),
        replace(encoding, done=1.0),
        late,
    ):  # there is no pace, or nothing left
        assert run_table.progress_line(other) == "Encoding every sentence once ..."
    words = {"": "Starting ...", "cross-validating": "Cross-validating ...", "my own": "My own ..."}
    for phase, line in words.items():
        assert run_table.progress_line(replace(late, phase=phase)) == line


def test_after_an_early_end_the_bar_is_of_what_is_measured() -> None:
    measuring = Status(
        RunState.RUNNING, "evaluating", 20, 60, 5, 30, 0.5, phase_since=100.0, updated_at=107.0
    )
    assert (measuring.progress, measuring.seconds_left) == (0.5, 7.0)
    parts = replace(measuring, phase="measuring the parts", done=0.0)
    assert parts.progress == 0 and parts.seconds_left is None


def test_the_list_says_what_a_run_learnt_from(root: Path) -> None:
    frame = run_table.runs_frame([Run(root / "fmda")])
    assert frame["Trained on"].tolist() == ["en-de, en-es"]
    assert frame["Method"].tolist() == [methods()["fmda"].title]


@pytest.mark.parametrize(("prompt", "said"), [(0.99, "Attends to no word"), (0.5, "Attends most to: *turn*")])
def test_attention_on_the_prompt_alone_is_not_called_even(prompt: float, said: str) -> None:
    rest = 1 - prompt
    shares = [prompt, 0.9 * rest, 0.1 * rest]
    tokens = tuple(
        Token(word, start, end, word == ":", share, share)
        for (word, start, end), share in zip([(":", 0, 0), ("turn", 0, 4), ("on", 5, 7)], shares, strict=True)
    )
    one = Utterance("turn on", (), "on", "1", "en")
    assert looks_at(one, SplitSentence(tokens, {}, {}), shares).startswith(said)
