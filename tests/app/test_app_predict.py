"""Predictions on the Workbench without a browser, by a run that was really trained."""

import re
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache
from emu_app.work.tasks import without_repeats
from emu_core.evaluation.vector_classifier import NO_INTENT
from emu_core.formats.tables.formats import FILE_ENDINGS
from emu_core.runs.run import Run
from tests.support.app_pages import compare, with_data
from tests.support.at_once import AtOnce
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
    return compare(with_data(file.read_bytes()), "Predict")


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
    # How many new intents are caught, below the table of predictions; once, not again with each sentence.
    caught = [line.value for line in app.caption if "of an intent without labels are caught" in line.value]
    assert [line.partition(":")[0].rstrip("\\") for line in caught] == ["A", "B"]
    before = app.dataframe[1].value["text"].tolist()
    app.selectbox[-1].set_value(1).run()
    assert app.dataframe[1].value["text"].tolist() != before
    assert any(NO_INTENT.capitalize() in caption.value for caption in app.caption)


def test_only_so_many_are_read(app: AppTest) -> None:
    app.text_area(key="predict-typed-0").set_value("\n".join(f"Room {n}?" for n in range(201))).run()
    assert "first 200 of 201" in app.info[0].value
    assert len(app.dataframe[0].value) == 200


def test_a_file_is_read_and_one_that_is_none_is_refused(app: AppTest) -> None:
    app.session_state["predict-how"] = "From a file"
    app.run()
    app.file_uploader[0].set_value([("mails.csv", b"text\nCan I bring my dog?\n", "")])
    app.run()
    assert app.dataframe[0].value["Sentence"].tolist() == ["Can I bring my dog?"]
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


def test_a_sentence_beside_the_maps_is_answered_at_once(app: AppTest) -> None:
    app.text_input(key="try-sentence").set_value(" Can I bring my dog? ").run()
    assert not app.exception and not app.error
    answers = [line.value for line in app.markdown if re.match(r"[AB]\\: .+: \*\*", line.value)]
    assert len(answers) == 2 and len(app.dataframe) == 2
    assert app.dataframe[0].value["cosine"].tolist() != app.dataframe[1].value["cosine"].tolist()


def test_a_sentence_of_the_set_is_no_neighbour_of_itself(app: AppTest, trained: tuple[Run, Path]) -> None:
    text = pd.read_csv(trained[1])["text"][7]
    app.text_input(key="try-sentence").set_value(f" {text}").run()
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


def test_the_page_waits_for_the_worker_and_says_so(app: AppTest, worker: AtOnce) -> None:
    worker.never = True
    app.text_area(key="predict-typed-0").set_value(SENTENCES).run()
    assert not app.exception and not app.dataframe
