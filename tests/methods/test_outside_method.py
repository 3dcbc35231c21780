"""A method of another package, found by its entry points, does all that ours do, by the command and in the library."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from emu_app.work import cache, jobs
from emu_app.work.background import Background, Pending
from emu_app.work.jobs import JobManager
from emu_core import load_encoder, train
from emu_core.cli import main
from emu_core.encoders.registry import encoder_kinds
from emu_core.errors import CancelledError
from emu_core.methods.registry import methods
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run, RunState, Status
from tests.support.app_pages import choose_method, new_session, runs_table
from tests.support.fake_runs import PATIENCE_S, until
from tests.support.small import small_file

PACKAGE = Path(__file__).parents[1] / "outside_method"
TEXTS = ["Where is the pool?", "プールはどこですか？"]


def read_again() -> None:
    """Forget which packages there were, as a new process does."""
    methods.cache_clear()
    encoder_kinds.cache_clear()


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package as if it were installed, here and in processes that are started."""
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    read_again()
    yield
    read_again()


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(small_file(tmp_path, ("en", "de")))


def trained(data: str, out: Path, *options: str) -> Run:
    assert main(["train", data, "--method", "linear-map", "--out", str(out), *options]) == 0
    return Run(out)


@pytest.mark.slow
@pytest.mark.usefixtures("outside")
def test_the_command_trains_and_explains_it(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(data, tmp_path / "r", "--stretch", "0.01", "--epochs", "2", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert run.config().hyperparameters == {"epochs": 2, "batch_size": 8, "stretch": 0.01}
    assert facts["specialised"] != facts["base"] and facts["selected_epoch"] == 2
    assert len([line for line in run.history() if not line.is_step]) == 2
    assert "`linear-map`" in (run.folder / "README.md").read_text("utf-8")
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--method", "linear-map", "--help"])
    assert "How far a step moves the map." in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("outside")
def test_cancelled_and_resumed_it_ends_where_it_would_have(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.runs.progress.STATUS_INTERVAL_S", 0)  # a status after each step
    whole = trained(data, tmp_path / "whole")
    run = Run(tmp_path / "stopped")

    def cancel(status: Status) -> None:
        if status.step >= 7:
            run.cancel()

    with pytest.raises(CancelledError):
        train(data, out=run.folder, method="linear-map", on_progress=cancel)
    assert run.status().state is RunState.CANCELLED and run.checkpoint.is_file()
    assert main(["resume", str(run.folder)]) == 0
    mine, its = (load_encoder(f"run:{one.folder}").encode(TEXTS) for one in (run, whole))
    np.testing.assert_array_equal(mine, its)
    kinds = [(line.kind, line.step, line.loss) for line in run.history()]
    assert kinds == [(line.kind, line.step, line.loss) for line in whole.history()]


@pytest.mark.slow
@pytest.mark.usefixtures("outside")
def test_it_is_compared_embedded_evaluated_and_exported(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(data, tmp_path / "r")
    capsys.readouterr()
    page = tmp_path / "page.html"
    assert main(["compare", data, "--run", str(run.folder), "--json", "--html", str(page)]) == 0
    compared = json.loads(capsys.readouterr().out)
    metrics = run.metrics()
    assert page.is_file() and metrics.mean_specialised > 0
    assert json.dumps(compared).count("en-de") > 0
    assert main(["evaluate", data, "--run", str(run.folder), "--split", "test", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(metrics.specialised)
    assert main(["embed", data, "--run", str(run.folder), "--out", str(tmp_path / "v.parquet")]) == 0
    assert main(["export", str(run.folder), "--out", str(tmp_path / "exported")]) == 0
    from sentence_transformers import SentenceTransformer

    vectors = SentenceTransformer(str(tmp_path / "exported"), trust_remote_code=True, device="cpu").encode(
        TEXTS
    )
    np.testing.assert_allclose(vectors, load_encoder(f"run:{run.folder}").encode(TEXTS), atol=1e-5)


@pytest.mark.slow
def test_without_the_package_its_run_says_what_is_missing(
    outside: None,
    data: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = trained(data, tmp_path / "r")
    monkeypatch.undo()
    read_again()
    assert main(["embed", data, "--run", str(run.folder), "--out", str(tmp_path / "v.parquet")]) == 2
    assert "linear-map" in capsys.readouterr().err


def is_waiting(queue: Background) -> bool:
    return any(isinstance(queue.result(key), Pending) for key in list(queue._outcomes))


@pytest.mark.slow
@pytest.mark.usefixtures("outside")
def test_the_app_offers_trains_cancels_resumes_and_compares_it(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, beside = JobManager(tmp_path / "runs"), Background()
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(jobs, "_job_manager", lambda root: queue)
    monkeypatch.setattr(cache, "background", lambda: beside)
    app = new_session().run()
    app.file_uploader[0].set_value([("small.csv", Path(data).read_bytes(), "")])
    app.run()
    app.switch_page("views/train.py").run()
    choose_method(app, "linear-map")
    assert "Linear map from outside" in app.selectbox(key="method").options
    assert "A linear map over the frozen encoder, from another package." in [one.value for one in app.caption]

    def press(label: str) -> None:
        next(button for button in app.button if button.label == label).click().run()
        assert not app.exception and not app.error

    next(box for box in app.number_input if box.label == "Stretch").set_value(0.01).run()
    press("Start the run")
    run = Run(tmp_path / "runs" / "linear-map-use-1")
    until(lambda: run.status().state is RunState.RUNNING)
    pid = run.status().pid
    assert pid is not None
    process = psutil.Process(pid)
    process.suspend()  # so that it is not over before it is cancelled
    try:
        app.run()
        press("Cancel")
    finally:
        process.resume()
    assert queue.wait(run, PATIENCE_S).state is RunState.CANCELLED
    app.run()
    press("Resume")
    assert queue.wait(run, PATIENCE_S).state is RunState.FINISHED
    assert run.config().hyperparameters["stretch"] == 0.01
    app.run()
    assert app.metric[0].value.replace("\\", "") == run_verdict(run.metrics()).cards[0][1]
    assert runs_table(app)["Method"].tolist() == ["Linear map from outside"]
    app.session_state["explore-pca"] = True
    app.switch_page("views/workbench.py").run()
    # The page is run again once what it waits for is there, and not all the time beside the processes that compute it.
    until(lambda: not is_waiting(beside) and not app.run().get("progress"))
    assert not app.exception and not app.error and app.get("plotly_chart")
