"""A run's folder may be anybody's: what is read of it is sound, or an error in one sentence."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emu_core.cli import main
from emu_core.errors import RunError
from emu_core.runs.run import Run, RunState, Status, create_run
from tests.support.app_pages import new_session
from tests.support.fake_runs import NoData, config, past

pytestmark = pytest.mark.slow

FILES = ("status.json", "config.json", "data.json", "metrics.json", "log.jsonl")
FIELDS = (
    "state", "pid", "step", "epoch", "started_at", "updated_at", "message", "kind", "loss", "method", "task", "pairs",
    "hyperparameters", "seed", "out", "similar_sentences", "translation", "mean_base", "mean_specialised", "warnings",
    "name",
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([*RunState, "train"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return create_run(tmp_path_factory.mktemp("fuzz") / "r", config(), NoData())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(FILES),
    content=st.binary(max_size=40)
    | st.dictionaries(st.sampled_from(FIELDS), VALUES).map(json.dumps)
    | st.text(),
)
def test_whatever_is_in_a_file_it_is_read_or_refused(run: Run, name: str, content: str | bytes) -> None:
    file = run.folder / name
    before = file.read_bytes() if file.exists() else None
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        for read in (run.status, run.config, run.data, run.metrics, run.history):
            try:
                found = read()
            except RunError as error:
                assert "\n" not in str(error)
                continue
            if isinstance(found, Status):
                assert found.pid >= 0 and math.isfinite(found.progress)
    finally:
        file.write_bytes(before) if before is not None else file.unlink()


DAMAGE: dict[str, dict[str, str]] = {
    "pid": {"status.json": '{"state": "running", "pid": "abc"}'},
    "deep": {"status.json": "[" * 99_999},
    "half": {"status.json": '{"state": "failed", "message": "\\ud800"}'},
    "times": {"status.json": '{"state": "finished", "started_at": 1e300, "updated_at": 1e301}'},
    "figures": {"metrics.json": '{"mean_base": "high", "mean_specialised": [], "translation": {"en-de": 1}}'},
    "deep-figures": {"metrics.json": '{"similar_sentences":' * 9_999},
    "log": {"log.jsonl": '{"kind": "epoch", "step": "x", "epoch": {}, "loss": []}\n[1]\n'},
    "data": {"data.json": '{"name": 1, "pairs": 3}'},
    "settings": {"config.json": '{"method": 1, "out": "/elsewhere"}'},
    "older": {"config.json": '{"method": "emu", "data": "x", "versions": {"emu_core": "0.0.9"}}'},
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs of which one is sound."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("EMU_RUNS", str(folder))
    metrics: dict[str, Any] = {"mean_base": 50.0, "mean_specialised": 60.0, "warnings": []}
    for name, files in DAMAGE.items():
        damaged = past(folder, name, Status(RunState.FINISHED, started_at=1.0, updated_at=2.0), metrics)
        for file, content in files.items():
            (damaged.folder / file).write_text(content)
    past(folder, "sound", Status(RunState.FINISHED, started_at=1.0, updated_at=2.0), metrics)
    create_run(folder / "waiting", config(), NoData())
    return folder


@pytest.mark.parametrize("page", ["train", "pretrain", "workbench", "split", "translations", "bench"])
def test_a_page_shows_the_sound_runs_whatever_the_others_hold(page: str, root: Path) -> None:
    app = new_session().run()
    app.session_state["explore-pca"] = True
    app.switch_page(f"views/{page}.py").run()
    assert not app.exception
    if page == "train":
        for name in (*DAMAGE, "sound", "waiting"):
            app.selectbox(key="watched").set_value(name).run()
            assert not app.exception, name
            if name == "older":
                shown = app.error[0].value.replace("\\", "")
                assert "written by emu_core 0.0.9 in a format without a number" in shown
        assert "It was queued by somebody else" in app.info[0].value  # the last one waits, and is not started
        assert [button.label for button in app.button if button.key == "resume-waiting"] == ["Start"]
        assert Run(root / "waiting").status().state is RunState.QUEUED


@pytest.mark.parametrize("name", [name for name in DAMAGE if name not in ("log", "data")])
def test_the_command_refuses_a_damaged_run_in_one_line(
    name: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", str(root / name)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert "emu: " in lines[-1]
    assert any(words in lines[-1] for words in ("damaged", "can't be read", "open it with emu_core 0.0.9"))
