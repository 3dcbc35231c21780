"""The Translations page, and the other pages with a run that was trained from nothing, without a browser."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.data import texts as uploaded
from emu_app.data.texts import Pairs
from emu_app.views.translations import EIGEN, LISTS, TRUE
from emu_app.views.translations import WORDS as WORDS_TAB
from emu_app.work import cache, mapping
from emu_core import pretrain
from emu_core.data.texts.parallel import ParallelText
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.arrays import unit_vectors
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.projection import Projection, project
from emu_core.evaluation.translation_ranking import find_translations, nearest_translations
from emu_core.evaluation.word_neighbours import frequent_words, nearest_words_table
from emu_core.methods.registry import configure
from emu_core.runs.run import Run
from tests.support.app_pages import new_session
from tests.support.app_words import unexplained
from tests.support.at_once import AtOnce

WORDS = {
    "en": "monday tuesday friday dog cat red runs sleeps house tree boy girl",
    "de": "montag dienstag freitag hund katze rot rennt schlaeft haus baum junge maid",
    "fr": "lundi mardi vendredi chien chat rouge court dort maison arbre gars fille",
}


def texts() -> list[ParallelText]:
    """Sentences of four words of twelve, word for word in three languages.

    No two have the same words: their vectors would be equal but for rounding.
    """
    draws = random.Random(0)
    drawn = (draws.sample(range(12), 4) for _ in range(200))
    rows = list({frozenset(row): row for row in drawn}.values())[:120]
    said = {
        code: tuple(" ".join(known.split()[word] for word in row) for row in rows)
        for code, known in WORDS.items()
    }
    return [ParallelText("en", code, said["en"], said[code], f"t-{code}") for code in ("de", "fr")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of BiCVM on the files that are uploaded here."""
    root = tmp_path_factory.mktemp("app")
    paths = [root / name for name, _, _ in files()]
    for path, (_, content, _) in zip(paths, files(), strict=True):
        path.write_bytes(content)
    settings = configure("bicvm", "", dim=16, epochs=30, batch_size=16)
    run = pretrain(paths, out=root / "runs" / "mine", method="bicvm", device="cpu", config=settings)
    return run


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AtOnce:
    worker = AtOnce()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "mapper", lambda: worker)
    monkeypatch.setattr(mapping, "project", lambda vectors, *_, **__: project(vectors, Projection.PCA))
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "none"))
    return worker


def files() -> list[tuple[str, bytes, str]]:
    german, french = texts()
    sides = {"en": german.first, "de": german.second, "fr": french.second}
    return [(f"own.{code}", "\n".join(side).encode(), "") for code, side in sides.items()]


def opened(page: str = "translations") -> AppTest:
    app = new_session().run()
    app.switch_page(f"views/{page}.py").run()
    assert not app.exception
    return app


@pytest.fixture
def app(run: Run, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page with the run and the text that it was trained on."""
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    app = opened()
    app.file_uploader[0].set_value(files())
    app.run()
    assert not app.exception and not app.error
    return app


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["translations-tab"] = name
    app.run()
    assert not app.exception
    return app


def box(app: AppTest, label: str) -> Any:
    return next(box for box in app.selectbox if box.label == label)


def table(app: AppTest, column: str) -> pd.DataFrame:
    found: pd.DataFrame = next(found.value for found in app.dataframe if column in found.value)
    return found


def chart(app: AppTest, place: int = 0) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(app.get("plotly_chart")[place].proto.spec)
    return spec


def plain(value: str) -> str:
    return value.replace("\\", "")


def vectors(run: Run, sentences: tuple[str, ...]) -> np.ndarray:
    found = load_encoder(f"run:{run.folder}").encode(list(sentences))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------ ranked lists


@pytest.mark.slow
def test_the_newest_pretrained_run_is_chosen_and_its_list_is_right(app: AppTest, run: Run) -> None:
    assert app.selectbox(key="translations-encoder").value == f"run:{run.name}"
    german = texts()[0]
    queries, targets = vectors(run, german.first), vectors(run, german.second)
    shown = table(app, "German")
    columns = json.loads(app.dataframe[0].proto.columns)
    assert [columns[name]["width"] for name in shown] == ["small", "small", "large", "small"]
    cosines = queries[0] @ targets.T
    assert shown["Cosine"].head(10).tolist() == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-5)
    assert shown["German"][0] == german.second[int(np.argmax(cosines))]
    marked = shown[shown["Translation"] == TRUE]
    assert marked["German"].tolist() == [german.second[0]]
    rank = 1 + sum(other > cosines[0] + 1e-6 for other in cosines)
    assert marked["Place"].tolist() == [rank]
    first = 100 * np.mean([row == np.argmax(q @ targets.T) for row, q in enumerate(queries)])
    assert app.metric[0].value == f"{first:.1f} %"


@pytest.mark.slow
@pytest.mark.parametrize("name", [LISTS, EIGEN, WORDS_TAB])
def test_no_term_is_without_a_help(app: AppTest, name: str) -> None:
    assert not unexplained(tab(app, name))


def test_another_direction_and_another_sentence(app: AppTest, run: Run) -> None:
    next(group for group in app.segmented_control if group.label == "Asked in").set_value("de").run()
    shown = table(app, "English")
    assert shown[shown["Translation"] == TRUE]["English"].tolist() == [texts()[0].first[0]]
    sentences = box(app, "Sentence")
    sentences.set_value(7).run()
    shown = table(app, "English")
    assert shown[shown["Translation"] == TRUE]["English"].tolist() == [texts()[0].first[7]]
    box(app, "Languages").set_value(2).run()  # German and French, which no text pairs
    assert not app.exception
    assert "French" in table(app, "French")


def test_a_typed_sentence_has_no_true_translation(app: AppTest, run: Run) -> None:
    next(group for group in app.segmented_control if group.label == "The sentence is").set_value(
        "Typed"
    ).run()
    next(field for field in app.text_input if field.label == "Sentence").set_value("dog cat red").run()
    shown = table(app, "German")
    german = texts()[0]
    cosines = vectors(run, ("dog cat red",))[0] @ vectors(run, german.second).T
    assert shown["German"][0] == german.second[int(np.argmax(cosines))]
    assert not (shown["Translation"] == TRUE).any()


def test_what_the_run_learnt_from_is_said(app: AppTest, run: Run) -> None:
    assert any("The run was trained on this text" in info.value for info in app.info)
    box(app, "Parallel text").set_value("Loaded data: Demo set").run()
    assert not app.exception
    assert not any("The run was trained on this text" in info.value for info in app.info)
    box(app, "Languages").set_value(4).run()
    assert any("was not trained on Chinese" in plain(warning.value) for warning in app.warning)


def test_a_base_encoder_needs_no_run() -> None:
    app = opened()
    assert app.selectbox(key="translations-encoder").value == "use"
    assert box(app, "Parallel text").options == ["Loaded data: Demo set"]


def test_a_broken_file_is_said_with_its_line() -> None:
    app = opened()
    app.file_uploader[0].set_value([("x.en", b"a\nb\n", ""), ("x.de", b"c\n", "")])
    app.run()
    assert not app.exception
    assert "line 2 has no translation" in plain(app.error[0].value)


def some_pairs(count: int = 6) -> tuple[Pairs, np.ndarray, np.ndarray]:
    draws = np.random.default_rng(5)
    first, second = (tuple(f"{code}{i}" for i in range(count)) for code in "ab")
    sources, targets = (draws.normal(size=(count, 4)).astype(np.float32) for _ in range(2))
    return Pairs("k", ParallelText("en", "de", first, second, "x")), sources, targets


def test_a_translation_beyond_the_list_comes_last_at_its_place() -> None:
    pairs, sources, targets = some_pairs(40)
    found = find_translations(sources, targets, pairs.text.second)
    row = int(np.argmax(found.ranking.ranks))
    rank = int(found.ranking.ranks[row])
    assert rank > 5
    shown = nearest_translations(sources[row], targets, pairs.text.second, 5, row=row, rank=rank)
    cosines = unit_vectors(sources)[row] @ unit_vectors(targets).T
    assert shown["place"].tolist() == [1, 2, 3, 4, 5, rank] and shown["sentence"].iloc[-1] == f"b{row}"
    assert shown["is_translation"].tolist() == [False] * 5 + [True]
    assert shown["cosine"].iloc[-1] == pytest.approx(float(cosines[row]), abs=1e-6)
    assert sum(float(value) > float(cosines[row]) for value in cosines) == rank - 1


def test_misses_are_those_that_are_not_first_the_worst_first() -> None:
    pairs, sources, targets = some_pairs(30)
    targets[3] = sources[3]
    found = find_translations(sources, targets, pairs.text.second)
    cosines = unit_vectors(sources) @ unit_vectors(targets).T
    ranks = [1 + sum(cosines[row] > cosines[row, row]) for row in range(30)]
    shown = found.misses(pairs.text.first, pairs.text.second)
    assert shown["place"].tolist() == sorted((rank for rank in ranks if rank > 1), reverse=True)
    assert "a3" not in set(shown["sentence"])
    for line in shown.to_dict("records"):
        row = int(line["sentence"][1:])
        assert line["translation"] == f"b{row}" and line["place"] == ranks[row]
        assert line["found"] == f"b{int(np.argmax(cosines[row]))}"
        assert line["found_cosine"] == pytest.approx(cosines[row].max(), abs=1e-6)


def test_large_text_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded, "MAX_SHOWN_PAIRS", 25)
    app = opened()
    app.file_uploader[0].set_value(files())
    app.run()
    assert any("25 of 120 pairs are used" in info.value for info in app.info)


# --------------------------------------------------------------------------------------- eigen-similarity


def test_eigen_similarity_is_a_picture(app: AppTest, run: Run) -> None:
    tab(app, "Eigen-similarity")
    german = texts()[0]
    expected = eigen_similarity(vectors(run, german.first), vectors(run, german.second))
    numbers = table(app, "Psi")
    assert numbers["Psi"].tolist() == [pytest.approx(expected.mean, rel=1e-4)]
    assert numbers["Standard error"].tolist() == [pytest.approx(expected.standard_error, rel=1e-4)]
    bars, lines = chart(app, 0), chart(app, 1)
    assert bars["data"][0]["name"].startswith(f"mine: {expected.mean:.3f}")
    assert [trace["name"] for trace in lines["data"]] == ["English", "German"]
    middle = sorted(expected.values)[500]
    assert lines["layout"]["annotations"][0]["text"] == f"mine: Psi {middle:.3f}"


def test_another_encoder_stands_beside(app: AppTest, run: Run) -> None:
    tab(app, "Eigen-similarity")
    app.toggle(key="translations-beside-on").set_value(True).run()
    assert not app.exception
    assert table(app, "Psi")["Encoder"].tolist() == ["mine", "USE multilingual"]
    assert len(chart(app, 0)["data"]) == 2


# ------------------------------------------------------------------------------------------------- words


def test_frequent_words_stand_on_a_map_by_language(app: AppTest, run: Run) -> None:
    tab(app, "Words")
    drawn = chart(app)["data"]
    assert [trace["name"] for trace in drawn] == ["English", "German", "French"]
    assert {code: set(trace["text"]) for code, trace in zip(WORDS, drawn, strict=True)} == {
        code: set(known.split()) for code, known in WORDS.items()
    }


def test_weekdays_are_drawn_and_the_missing_ones_named(app: AppTest) -> None:
    tab(app, "Words")
    app.segmented_control(key="words-which").set_value("Weekdays and months").run()
    drawn = chart(app)["data"]
    assert [trace["text"] for trace in drawn] == [
        ["monday", "tuesday", "friday"], ["montag", "dienstag", "freitag"], ["lundi", "mardi", "vendredi"],
    ]  # fmt: skip
    assert any("did not occur in the training text: wednesday" in plain(info.value) for info in app.info)
    box(app, "Of the word").set_value(("monday", "en")).run()
    nearest = table(app, "Cosine (de)")
    assert nearest["German"][0] == "montag" and "monday" not in set(nearest["English"])


def test_typed_words_come_with_their_nearest_in_other_languages(app: AppTest) -> None:
    tab(app, "Words")
    app.segmented_control(key="words-which").set_value("Typed").run()
    assert not app.get("plotly_chart")
    app.text_input(key="words-typed").set_value("Dog, katze, zzz").run()
    assert not app.exception
    assert any("Not in the training text: zzz" in plain(info.value) for info in app.info)
    drawn = {trace["name"]: trace["text"] for trace in chart(app)["data"]}
    assert {name: set(found) for name, found in drawn.items()} == {
        "English": {"dog", "cat"}, "German": {"hund", "katze"}, "French": {"chien", "chat"},
    }  # fmt: skip
    app.checkbox(key="words-with-nearest").uncheck().run()
    assert any("A map needs at least 4 words" in info.value for info in app.info)


def test_an_encoder_without_words_says_so(app: AppTest) -> None:
    tab(app, "Words")
    app.selectbox(key="translations-encoder").set_value("use").run()
    assert not app.exception
    assert any("has no word vectors" in info.value for info in app.info)


def test_nearest_words_by_plain_arithmetic() -> None:
    draws = np.random.default_rng(0)
    spaces = {code: (tuple(known.split()), draws.normal(size=(12, 5))) for code, known in WORDS.items()}
    shown = nearest_words_table("dog", "en", spaces, 3)
    query = spaces["en"][1][3]
    cosines = {
        word: query @ vector / np.linalg.norm(query) / np.linalg.norm(vector)
        for word, vector in zip(*spaces["de"], strict=True)
    }
    best = sorted(cosines, key=lambda word: -cosines[word])[:3]
    assert shown["German"].tolist() == best
    assert shown["Cosine (de)"].tolist() == pytest.approx([cosines[word] for word in best])
    assert "dog" not in shown["English"].tolist()
    words = {"en": (("the", ".", "1", "dog", "cat"), np.ones((5, 2)))}
    assert frequent_words(words, 2) == [("the", "en"), ("dog", "en")]


# ------------------------------------------------------------------------------------------- other pages


@pytest.mark.slow
def test_another_encoder_is_set_beside_a_run_from_scratch(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    frame = pd.DataFrame(
        {
            "text": [f"{known.split()[word]} {word}" for known in WORDS.values() for word in range(12)],
            "intent": ["a", "b", "c"] * 12,
            "language": [code for code in WORDS for _ in range(12)],
        }
    )
    app = new_session().run()
    app.file_uploader[0].set_value([("own.csv", frame.to_csv(index=False).encode(), "")])
    app.run()
    app.query_params.update({"b": f"run:{run.name}", "tab": "Forgetting"})
    app.switch_page("views/workbench.py").run()
    assert not app.exception and not app.error
    assert app.selectbox(key="choose-a").value == "use"
    assert len(app.get("plotly_chart")) > 0
    assert any("no base that it could" in info.value for info in app.info)
    app.query_params["tab"] = "Curves"
    app.run()
    assert any(
        "BiCVM; from scratch; translations: en-de, en-fr" in plain(found.value) for found in app.caption
    )


@pytest.mark.slow
@pytest.mark.parametrize("view", ["split", "encoders", "train", "pretrain", "bench"])
def test_other_pages_bear_a_run_from_nothing(view: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    app = opened(view)
    assert not app.error
    assert set(unexplained(app)) == ({"`use`"} if view == "encoders" else set())  # its name in the command
    if view == "encoders":
        assert table(app, "Trained from")["Name in the command"].tolist() == [f"run:{run.folder}"]
