"""The demo run in the package: it is today's, and the app opens on it without computing anything."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.shell import first_run
from emu_app.work import cache, demo_run
from emu_app.work.demo_run import PACKED_MAPS, PACKED_RUN, PACKED_VECTORS, vectors_of
from emu_app.work.vectors import vectors_path, weights_of
from emu_core import load_demo, load_encoder
from emu_core.api.train import plan_training
from emu_core.encoders.saved import check_files
from emu_core.errors import EncoderError
from emu_core.evaluation.projection import trustworthiness
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run
from tests.support.app_pages import PATIENCE_S
from tests.support.app_words import texts
from tests.support.at_once import AtOnce
from tests.support.paths import MAIN
from tests.support.workbench_pages import bars, drawn_rows, headline
from tools.demo_run import make

# What somebody who sees the app for the first time would say after ten seconds. Each word stands on the screen, but for
# those that join a sentence.
SAID_AFTER_TEN_SECONDS = (
    "This is Emu.",
    "Emu specialises sentence encoders on labels.",
    "It shows what changes in each language.",
    "This one was trained on 336 English questions.",
    "It finds similar sentences better: 26, now 44 of 100.",
    "It names the intents as well as before: 59 of 100.",
    "The first bars are similar sentences in English, German, Spanish, French, Japanese, and Chinese.",
    "A is USE multilingual before training, and B is demo after training.",
    "I can play before and after.",
    "I can use my own file, or try a sentence.",
)
OWN_WORDS = {"this", "first", "is", "it", "was", "one", "the", "are", "i", "can", "or", "and", "now", "bars"}
STALE = "make it again: python -m tools.demo_run"


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs in which the demo run is placed; nobody writes there."""
    folder = tmp_path_factory.mktemp("first") / "runs"
    demo_run.main(str(folder), str(folder))
    return folder


def test_it_is_what_training_on_the_demo_set_plans_today() -> None:
    labelled = load_demo()
    planned = plan_training(labelled)[0]
    packed = Run(PACKED_RUN)
    assert packed.config().hyperparameters == planned.hyperparameters, STALE
    assert packed.data().sha256 == labelled.sha256(), STALE


def test_it_is_whole_and_its_vectors_are_those_of_its_encoders(runs: Path) -> None:
    run, labelled = Run(runs / "demo"), load_demo()
    check_files(run.encoder_folder)
    texts = labelled.frame["text"].tolist()
    for spec in (demo_run.ENCODER, f"run:{run.folder}"):
        stored = np.load(vectors_path(runs, weights_of(spec), labelled.sha256(), texts))
        assert stored.shape == (len(texts), 512) and stored.dtype == np.float32
        np.testing.assert_allclose(
            stored[::150], load_encoder(spec).encode(texts[::150]), atol=1e-3, err_msg=STALE
        )
    with np.load(PACKED_MAPS) as maps:
        assert maps["places"].shape == (2, len(texts), 2), STALE
        both = zip(vectors_of(f"run:{run.folder}"), maps["places"], maps["trust"], strict=True)
        for vectors, places, trust in both:
            assert trustworthiness(vectors, places) == pytest.approx(trust, abs=1e-3), STALE
    assert run.predict(["Wo ist das Schwimmbad?"]) == ["pool"]


def test_the_app_opens_on_it_before_anything_is_computed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = AtOnce()
    worker.never = True
    for name in ("background", "mapper", "upload_reader"):
        monkeypatch.setattr(cache, name, lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(runs))
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    assert not app.exception
    verdict, labelled = run_verdict(Run(runs / "demo").metrics()), load_demo()
    assert headline(app).endswith(verdict.sentence)
    assert bars(app).count('<th scope="row">') == len(labelled.languages)
    assert f"{verdict.similar.title} of 100" in bars(app)  # what changed, and so the sentence begins with it
    assert drawn_rows(app, "x") == drawn_rows(app, "x2") == list(range(len(labelled)))
    # Its maps are in the package, too: they are not laid out, and not those that wait for that.
    assert not [key for key in worker.asked if key.startswith("map:")]
    assert any("Trust in the maps" in caption.value for caption in app.caption)
    shown = " ".join([*(text for text, _ in texts(app)), headline(app), bars(app)])
    shown += " ".join(link.proto.label for link in app.get("page_link"))
    for sentence in SAID_AFTER_TEN_SECONDS:
        unseen = words(sentence) - words(shown) - OWN_WORDS
        assert not unseen, (sentence, unseen)


def test_a_new_server_leaves_the_cores_to_the_browser_until_it_has_drawn_what_is_known(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = AtOnce()
    worker.never, worker.is_started = True, False
    for name in ("background", "mapper", "upload_reader"):
        monkeypatch.setattr(cache, name, lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(runs))
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    assert bars(app) and drawn_rows(app, "x") and worker.asked == []
    assert app.get("progress")[0].proto.text.startswith("Finding the nearest")
    app.run()
    assert [key for key in worker.asked if key.startswith("compare:")]


def test_only_an_empty_folder_of_runs_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    class Placing:
        def __init__(self, command: list[str]) -> None:
            started.append(command)

        def wait(self) -> None:
            """It is over at once."""

    monkeypatch.setattr(first_run.subprocess, "Popen", Placing)
    (tmp_path / "used" / ".deleted").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name in ("used", "empty", "new"):
        first_run.place_where_empty(tmp_path / name)
        first_run.until_placed(tmp_path / name)
    first_run.place_where_empty(tmp_path / "new")  # as another session of the same person would
    assert [Path(command[-2]).name for command in started] == ["empty", "new"]


def test_without_its_encoder_the_app_starts_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(spec: str) -> None:
        raise EncoderError(f"the encoder {spec} needs a package")

    monkeypatch.setattr(demo_run, "load_encoder", missing)
    demo_run.main(str(tmp_path / "runs"), str(tmp_path))
    assert not (tmp_path / "runs" / "demo").exists()
    assert "without the demo run" in capsys.readouterr().err


@pytest.mark.slow
def test_made_again_it_is_the_same(tmp_path: Path) -> None:
    run, vectors, maps = tmp_path / "run", tmp_path / "vectors.npy", tmp_path / "maps.npz"
    make(run, vectors, maps)
    assert {path.relative_to(run) for path in run.rglob("*")} == {
        path.relative_to(PACKED_RUN) for path in PACKED_RUN.rglob("*")
    }, STALE
    measured = [run_verdict(Run(folder).metrics()) for folder in (run, PACKED_RUN)]
    assert measured[0].sentence == measured[1].sentence and measured[0].unknown == measured[1].unknown, STALE
    own, packed = (json.loads((folder / "metrics.json").read_text("utf-8")) for folder in (run, PACKED_RUN))
    assert own.keys() == packed.keys() and own["specialised"] == pytest.approx(packed["specialised"]), STALE
    np.testing.assert_allclose(np.load(vectors), np.load(PACKED_VECTORS), atol=1e-3, err_msg=STALE)
    with np.load(maps) as own_maps, np.load(PACKED_MAPS) as packed_maps:
        np.testing.assert_allclose(own_maps["trust"], packed_maps["trust"], atol=0.02, err_msg=STALE)
