"""Predictions of one's own sentences without a browser, by a run that was really trained."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache, tasks
from emu_app.work.tasks import without_repeats
from emu_core import IntentClassifier, load_encoder, train
from emu_core.data.sets import LabelledSet
from emu_core.formats.tables.formats import FILE_ENDINGS
from emu_core.intents.answers import NO_INTENT
from emu_core.runs.run import Run
from tests.support.app_pages import compare, explore, predict, with_data
from tests.support.at_once import AtOnce
from tests.support.small import small_file, small_set
from tests.support.small_run import small_run
from tests.support.tables import WRITERS, written

SENTENCES = "Can I bring my dog?\n\n Wo ist das Schwimmbad? "


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    run, _, file = small_run(tmp_path_factory.mktemp("app") / "runs")
    return run, file


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AtOnce:
    worker = AtOnce()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "mapper", lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "none"))
    return worker


@pytest.fixture
def app(trained: tuple[Run, Path], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    run, file = trained
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    return predict(with_data(file.read_bytes()))


@pytest.mark.slow
def test_typed_sentences_are_answered_by_both_encoders(app: AppTest) -> None:
    assert "Type or upload sentences" in app.info[0].value
    app.text_area(key="predict-typed-0").set_value(SENTENCES).run()
    assert not app.exception and not app.error
    answers = app.dataframe[0].value
    assert answers["Sentence"].tolist() == ["Can I bring my dog?", "Wo ist das Schwimmbad?"]
    assert list(answers.columns[1:3]) == ["A: intent", "B: intent"]
    for number, name in ((1, "A"), (2, "B")):
        near = app.dataframe[number].value
        intent = answers[f"{name}: intent"][0]
        assert len(near) == 5 and {"English", "German", "Japanese"} & set(near["language"])
        assert (near["right"] == "✓").tolist() == (near["intent"] == intent).tolist()
    # How far each answer holds, below the table of predictions; once, not again with each sentence. B was trained on
    # all the sentences that its model knows, and is measured on those that the run held out.
    notes = [line.value.replace("\\", "") for line in app.caption if "72 labelled sentences" in line.value]
    assert [line.partition(":")[0] for line in notes] == ["A", "B"]
    assert all("of the run small" in line for line in notes)
    assert [line.count("of the sentences of intents that are left out") for line in notes] == [
        1,
        1,
    ]  # said once
    assert ["trained on these labelled sentences" in line for line in notes] == [False, True]
    before = app.dataframe[1].value["text"].tolist()
    app.selectbox[-1].set_value(1).run()
    assert app.dataframe[1].value["text"].tolist() != before
    assert any(NO_INTENT.capitalize() in caption.value for caption in app.caption)


@pytest.fixture(scope="module")
def with_head(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """A run of the default method, with the file that it was trained on."""
    folder = tmp_path_factory.mktemp("head")
    file = small_file(folder)
    return train(str(file), out=folder / "runs" / "small", device="cpu"), file


@pytest.fixture
def head_app(with_head: tuple[Run, Path], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    run, file = with_head
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    return predict(with_data(file.read_bytes()))


@pytest.mark.slow
def test_a_run_answers_with_its_own_model_and_adapts_to_the_languages(
    head_app: AppTest, with_head: tuple[Run, Path]
) -> None:
    run, german = with_head[0], small_set().select(languages=["de"], splits=["test"]).frame["text"].tolist()
    texts = [*german, "Where is the pool?", "12345"]
    head_app.text_area(key="predict-typed-0").set_value("\n".join(texts)).run()
    assert not head_app.exception and not head_app.error
    # The head leaves the vectors of its base as they are, so that both encoders give one answer.
    shown = head_app.dataframe[0].value
    assert list(shown.columns) == ["Sentence", "A and B: intent", "A and B: confidence"]
    assert any("A and B name the same intents" in line.value for line in head_app.caption)
    languages = ["de"] * len(german) + ["en", ""]
    own = IntentClassifier.from_run(run)
    by_itself = own.explain(texts, languages=languages)["intent"].tolist()
    adapted = own.adapt(texts, languages).explain(texts, languages=languages)["intent"].tolist()
    assert adapted[-1] == NO_INTENT
    assert shown["A and B: intent"].tolist() == adapted
    assert any("calibrated by the unlabelled sentences in German" in line.value for line in head_app.caption)
    head_app.toggle(key="predict-adapts").set_value(False).run()
    assert head_app.dataframe[0].value["A and B: intent"].tolist() == by_itself
    assert any("do not suffice to calibrate German" in line.value for line in head_app.caption)


def test_beside_a_run_that_keeps_no_sentences_the_labels_of_the_data_answer(
    trained: tuple[Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, file = trained
    copied = Path(shutil.copytree(run.folder, tmp_path / "runs" / "small"))
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps(config | {"keep_examples": False}))
    monkeypatch.setenv("EMU_RUNS", str(copied.parent))
    app = predict(with_data(file.read_bytes()))
    app.text_area(key="predict-typed-0").set_value(SENTENCES).run()
    assert not app.exception and not app.error
    notes = [line.value.replace("\\", "") for line in app.caption if "labelled sentences of" in line.value]
    assert "From 324 labelled sentences of the data." in notes[0]
    assert "From 72 labelled sentences of the run small." in notes[1]


def test_maps_have_the_moved_vectors_of_a_typed_sentence_and_the_model_those_before(
    with_head: tuple[Run, Path],
) -> None:
    spec = f"run:{with_head[0].folder}"
    base, moved = load_encoder("use"), load_encoder(spec)
    answerers = {
        "A": tasks.Answerer("use", "", "use", "", "of the run", "the run", run=with_head[0].folder),
        "B": tasks.Answerer(spec, "", "use", "", "of the run", "the run", run=with_head[0].folder),
        "C": tasks.Answerer(spec, "", spec, "", "of the run", "the run", run=with_head[0].folder),
    }
    none, text = LabelledSet.of_nothing(""), ["Can I bring my dog?"]
    found = tasks.answers(answerers, none, np.zeros(0, np.intp), text, None, False, True)
    for name, encoder in (("A", base), ("B", moved), ("C", moved)):
        np.testing.assert_allclose(found[name].vectors, encoder.encode(text), atol=1e-5)
    assert np.abs(found["A"].vectors - found["B"].vectors).max() > 0.01
    near = [found[name].table.loc[0, "nearest_1_cosine"] for name in "ABC"]
    assert near == pytest.approx([near[0]] * 3, abs=1e-5)


@pytest.mark.slow
def test_only_so_many_are_read(app: AppTest) -> None:
    app.text_area(key="predict-typed-0").set_value("\n".join(f"Room {n}?" for n in range(201))).run()
    assert "first 200 of 201" in app.info[0].value
    assert len(app.dataframe[0].value) == 200


@pytest.mark.slow
def test_a_file_is_read_and_one_that_is_none_is_refused(app: AppTest) -> None:
    app.session_state["predict-how"] = "From a file"
    app.run()
    app.file_uploader[0].set_value([("mails.csv", b"text\nCan I bring my dog?\n", "")])
    app.run()
    assert app.dataframe[0].value["Sentence"].tolist() == ["Can I bring my dog?"]
    assert not app.info
    tickets = b"Details,Agent\nMy parcel is late again,Ann\nI can't log in any more,Bob\n"
    app.file_uploader[0].set_value([("mails.csv", tickets, "")])
    app.run()
    assert "guessed: text is column 'Details'" in app.info[0].value.replace("\\", "")
    many = "\n".join(["text", *(f"Room {n}?" for n in range(1_001))])
    app.file_uploader[0].set_value([("mails.csv", many.encode(), "")])
    app.run()
    assert len(app.dataframe[0].value) == 1_001
    app.file_uploader[0].set_value([("mails.parquet", b"text", "")])
    app.run()
    assert app.error and not app.dataframe


@pytest.mark.slow
def test_every_format_and_plain_text_are_read(app: AppTest) -> None:
    app.session_state["predict-how"] = "From a file"
    app.run()
    assert tuple(app.file_uploader[0].allowed_type) == FILE_ENDINGS
    sentences = pd.DataFrame({"text": ["Can I bring my dog?", "Is there a pool, or a gym?"]})
    endings = [*(table_format.endings[-1] for table_format in WRITERS), ".csv.gz"]
    files = {f"mails{ending}": written(sentences, ending) for ending in endings}
    for name, payload in {**files, "mails.txt": "\n".join(sentences["text"]).encode()}.items():
        app.file_uploader[0].set_value([(name, payload, "")])
        app.run()
        assert app.dataframe[0].value["Sentence"].tolist() == sentences["text"].tolist(), name


@pytest.mark.slow
def test_a_sentence_beside_the_maps_is_answered_at_once(app: AppTest) -> None:
    explore(app).text_input(key="try-sentence").set_value(" Can I bring my dog? ").run()
    assert not app.exception and not app.error
    answers = [line.value for line in app.markdown if re.match(r"[AB]\\: .+: \*\*", line.value)]
    assert len(answers) == 2 and len(app.dataframe) == 2
    assert app.dataframe[0].value["cosine"].tolist() != app.dataframe[1].value["cosine"].tolist()


@pytest.mark.slow
def test_a_sentence_of_the_set_is_no_neighbour_of_itself(app: AppTest, trained: tuple[Run, Path]) -> None:
    text = pd.read_csv(trained[1])["text"][7]
    explore(app).text_input(key="try-sentence").set_value(f" {text}").run()
    for near in app.dataframe:
        assert len(near.value) == 5 and near.value["text"].all() and text not in set(near.value["text"])
        assert near.value["cosine"].is_monotonic_decreasing
    said = [line.value for line in app.caption if "The set has this sentence itself" in line.value]
    assert len(said) == 2
    app.text_input(key="try-sentence").set_value("Can I bring my dog?").run()
    assert not any("this sentence itself" in line.value for line in app.caption)


def test_repeats_are_left_out_and_a_missing_neighbour_is_empty() -> None:
    near = {f"nearest_{rank}": [text, "b"] for rank, text in enumerate(["A ", "x", "a", "y"], start=1)}
    facts = {
        f"nearest_{rank}_{what}": values
        for rank in range(1, 5)
        for what, values in (
            ("intent", [f"i{rank}"] * 2),
            ("language", ["en"] * 2),
            ("cosine", [-rank, -rank]),
        )
    }
    table = without_repeats(pd.DataFrame({"text": ["a", "c"], **near, **facts}))
    assert table["repeats"].tolist() == [2, 0]
    assert table[[f"nearest_{rank}" for rank in range(1, 5)]].values.tolist() == [
        ["x", "y", "", ""],
        ["b"] * 4,
    ]
    assert table["nearest_2_intent"].tolist() == ["i4", "i2"] and table["nearest_3_language"].tolist() == [
        "",
        "en",
    ]
    assert table["nearest_1_cosine"].tolist() == [-2, -1] and table["nearest_4_cosine"].isna().tolist() == [
        True,
        False,
    ]


@pytest.mark.slow
def test_the_page_waits_for_the_worker_and_says_so(app: AppTest, worker: AtOnce) -> None:
    worker.never = True
    app.text_area(key="predict-typed-0").set_value(SENTENCES).run()
    assert not app.exception and not app.dataframe


def test_an_address_of_the_old_tab_leads_to_the_page(app: AppTest) -> None:
    assert compare(app, "Predict").title[0].value == "Try"
    assert app.text_area(key="predict-typed-0") and "tab" not in app.query_params
