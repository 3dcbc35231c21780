"""No face shows two figures of one name for one run: a run of each method, on every face that it has."""

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from emu_core.api.compare import compare
from emu_core.cli.compare import print_comparison
from emu_core.cli.train import reported
from emu_core.evaluation.run_metrics import Metrics
from emu_core.methods.registry import methods
from emu_core.reports.cells import comparison_cell, run_cell
from emu_core.reports.comparison_page import comparison_page
from emu_core.reports.figures import told_figures
from emu_core.reports.verdict import amounts, run_verdict
from emu_core.reports.views import comparison_records
from emu_core.runs.run import Run
from emu_core.training.method import Needs
from tests.support.app_pages import new_session
from tests.support.app_words import texts
from tools.same_bits import Runs

pytestmark = pytest.mark.slow
METHODS = tuple(Runs(0).present)
AMOUNTS = re.compile(r"[\d.]+ → [\d.]+ of [\d,]+")
PERCENTAGES, NUMBERS = re.compile(r"(\d+\.\d) %"), re.compile(r"\d+\.\d")
Printed = Callable[[], str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Small runs, each trained when it is first asked for, in the folder that they are in."""
    with chdir(tmp_path_factory.mktemp("methods")):
        yield Runs(0)


@pytest.fixture(params=METHODS)
def run(request: pytest.FixtureRequest, runs: Runs) -> Run:
    """A run of each method."""
    return Run(Path(runs.folder(request.param)).absolute())


def plain(markup: str) -> str:
    """Text without tags and marks, on one line."""
    without = re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]*>", " ", markup, flags=re.S)
    return re.sub(r"\s+", " ", unescape(without).replace("\\", ""))


def told(metrics: Metrics) -> str:
    """All that is said of a run: its verdict and its figures, the one source of every face."""
    verdict, figures = run_verdict(metrics), told_figures(metrics)
    lines = [line.text for line in verdict.lines] + [text for card in verdict.cards for text in card]
    for measure in verdict.measures:  # bars have rounded counts
        assert measure.changes is not None
        lines += [amounts(change) for change in measure.changes.by_language.values()]
    for figure in figures.values():
        lines += [sentence.text for sentence in figure.sentences]
        lines += [" ".join(row) for row in (figure.table.rows if figure.table else ())]
    return " ".join(lines)


def assert_one_figure_a_name(shown: str, metrics: Metrics) -> None:
    """Hold that every amount and percentage of a face is told, and each line of the verdict has the same numbers."""
    source = told(metrics)
    assert set(AMOUNTS.findall(shown)) <= set(AMOUNTS.findall(source))
    assert set(PERCENTAGES.findall(shown)) <= set(
        NUMBERS.findall(source)
    )  # whose column says that it is in percent
    for line in run_verdict(metrics).lines:
        pattern = re.sub(r"[\d.,]*\d", r"[\\d.,]*\\d", re.escape(line.text).replace("\\.", "."))
        assert set(re.findall(pattern, shown)) <= {line.text}


def test_the_run_on_its_own_faces(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = run.metrics()
    faces = [(run.folder / "README.md").read_text("utf-8").replace("**", ""), run_cell(run)]
    for full in (False, True):
        reported(run, argparse.Namespace(json=False, full=full))
        faces.append(capsys.readouterr().out)
    for face in faces:
        shown = plain(face.partition("## Settings")[0].replace("|", " "))
        assert run_verdict(metrics).sentence in shown
        assert_one_figure_a_name(shown, metrics)
    printed: dict[str, Any] = json.loads(json.dumps(reported(run, argparse.Namespace(json=True, full=False))))
    for name in ("right_intents", "similar_sentences"):
        assert printed["verdict"][name]["overall"] == (printed.get(name) or {}).get("overall")


def test_the_run_compared_with_its_base(run: Run, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = run.metrics()
    if not run.config().encoder:
        pytest.skip("an encoder from scratch has no base")
    method = methods()[run.config().method]
    frame = runs.with_dev if method.needs is Needs.INTENTS and method.name != "head" else runs.hotel
    compared = compare(frame, run, split=metrics.split, device="cpu")
    print_comparison(compared)
    for face in (capsys.readouterr().out, comparison_cell(compared), comparison_page(compared)):
        shown = plain(face)
        assert run_verdict(metrics).sentence in shown
        assert set(AMOUNTS.findall(shown)) <= set(AMOUNTS.findall(told(metrics)))
    records: dict[str, Any] = json.loads(json.dumps(comparison_records(compared)))
    for side, of_run in (("base", metrics.base), ("other", metrics.specialised)):
        assert {row["pair"]: row[side] for row in records["accuracy"]} == pytest.approx(of_run)
    assert metrics.similar_sentences is not None
    for row in records["gains"]:
        change = metrics.similar_sentences.by_language[row["language"]]
        assert (row["base"], row["other"]) == pytest.approx((change.base, change.specialised))


def test_the_run_on_its_page(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "EMU_RUNS", str(run.folder.parent))
    name = "train" if run.config().encoder else "pretrain"
    page = new_session(name)
    page.query_params["watched" if name == "train" else "pretrain-watched"] = run.name
    page.run()
    assert not page.exception
    shown = plain(" ".join(text for text, _ in texts(page)))
    assert run_verdict(run.metrics()).sentence in shown
    assert_one_figure_a_name(shown, run.metrics())
