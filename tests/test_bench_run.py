import html
import json
import os
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from emu_core.api.inputs import measure
from emu_core.bench.bench import bench_emu
from emu_core.bench.cells import BASE, Cell, Kind
from emu_core.bench.data import bench_data
from emu_core.bench.launch import in_process
from emu_core.bench.markup import plain
from emu_core.bench.memory import PeakMemory
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.run_cell import run_cell
from emu_core.bench.stopwatch import Moment, Took, now, since
from emu_core.cli import main
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.errors import EncoderError, RunError, TrainingError
from tests.bench_set import bench_file, bench_set, request_of
from tests.killed_bench import measured
from tests.tiny_transformer import tiny_transformer

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"


def fast(*asked: Request) -> CellResult:
    return measured(*asked)


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    data, out = bench_file(tmp_path), tmp_path / "out"
    killed = subprocess.run(
        [sys.executable, "-m", "tests.killed_bench", str(data), str(out), "4"], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    done = {path.name: path.read_bytes() for path in (out / "cells").iterdir()}
    assert set(done) == {"base.s0.json", "method.emu.en.s0.json", "method.emu.en.s1.json"}
    assert not (out / "report.json").exists()

    asked: list[Cell] = []

    def counting(request: Request) -> CellResult:
        asked.append(request.cell)
        return measured(request)

    steps: list[tuple[int, int]] = []
    options = {"parts": ["5"], "seeds": (0, 1), "device": "cpu"}
    resumed = bench_emu(
        str(data), out=out, run=counting, on_progress=lambda *step: steps.append(step[:2]), **options
    )
    assert [cell.key for cell in asked] == [
        "method.emu-without-ld.en.s0", "method.emu-without-ld.en.s1",
        "method.emu-without-ld-cl.en.s0", "method.emu-without-ld-cl.en.s1",
    ]  # fmt: skip
    assert steps == [(3, 7), (4, 7), (5, 7), (6, 7), (7, 7)]
    assert {name: (out / "cells" / name).read_bytes() for name in done} == done
    whole = bench_emu(str(data), out=tmp_path / "other", run=measured, **options)
    assert resumed.tables == whole.tables
    assert not [path for path in out.rglob("*") if path.name.startswith(".")]


def test_more_seeds_and_tables_add_cells(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(request: Request) -> CellResult:
        asked.append(request.cell.key)
        return measured(request)

    for seeds in ((0,), (0, 1)):
        bench_emu(bench_set(), out=tmp_path / "out", parts=["4"], seeds=seeds, device="cpu", run=counting)
    assert asked == ["base.s0", "method.emu-without-ld.en.s0", "method.emu-without-ld.en.s1"]


def test_cells_of_another_setting_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = {"out": out, "parts": ["4"], "device": "cpu", "run": measured}
    bench_emu(bench_set(), **options)  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"differ in the encoder \(use, not e5-small\); choose another folder"):
        bench_emu(bench_set(), encoder="e5-small", **options)  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"differ in the number of epochs \(None, not 2\)"):
        bench_emu(bench_set(), epochs=2, **options)  # type: ignore[arg-type]
    other = bench_set().frame
    other.loc[3, "text"] = "where is the pool"
    with pytest.raises(RunError, match="differ in the data; choose another folder with --out"):
        bench_emu(LabelledSet(other, "tiny"), **options)  # type: ignore[arg-type]


def test_a_cell_of_other_hyperparameters_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench_emu(bench_set(), out=out, parts=["4"], device="cpu", run=measured)
    path = out / "cells" / "method.emu-without-ld.en.s0.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"fingerprint": "0" * 64}))

    def never(request: Request) -> CellResult:
        raise AssertionError(request.cell.key)

    with pytest.raises(RunError, match=r"emu-without-ld\.en\.s0\.json was made with other settings"):
        bench_emu(bench_set(), out=out, parts=["5"], device="cpu", run=never)
    path.write_text('{"fingerprint"')
    with pytest.raises(RunError, match="is damaged; delete it"):
        bench_emu(bench_set(), out=out, parts=["5"], device="cpu", run=never)


def test_a_folder_whose_beginning_was_killed_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "out" / "cells").mkdir(parents=True)
    (tmp_path / "out" / "data.parquet").write_bytes(b"PAR1 half")
    bench_emu(bench_set(), out=tmp_path / "out", parts=["4"], device="cpu", run=measured)
    assert (tmp_path / "out" / "report.html").is_file()
    assert len(pd.read_parquet(tmp_path / "out" / "data.parquet")) == 36


def test_a_folder_that_is_no_benchmark_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(RunError, match="is in use and holds no benchmark"):
        bench_emu(bench_set(), out=tmp_path, parts=["4"], device="cpu", run=measured)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


def test_what_can_not_be_measured_is_said_and_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def failing(request: Request) -> CellResult:
        return CellResult(not_measured="no | package") if request.cell.name == "emu" else measured(request)

    options = {"out": out, "parts": ["2"], "device": "cpu"}
    report = bench_emu(bench_set(), run=failing, **options)  # type: ignore[arg-type]
    assert ("Emu", "not measured: no | package") in [row[:2] for row in report.tables[0].rows]
    assert "| Emu | not measured: no \\| package |" in (out / "report.md").read_text()
    asked: list[str] = []

    def counting(request: Request) -> CellResult:
        asked.append(request.cell.key)
        return measured(request)

    bench_emu(bench_set(), run=counting, **options)  # type: ignore[arg-type]
    assert asked == ["method.emu.en.s0"]
    with pytest.raises(EncoderError, match="the base encoder can't be measured: no file"):
        bench_emu(
            bench_set(),
            out=tmp_path / "third",
            parts=["4"],
            device="cpu",
            run=lambda request: CellResult(not_measured="no file"),
        )


def test_a_wrong_call_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no table '7'; there are: 2, 3, 4, 5, peers, figure2"):
        bench_emu(bench_set(), out=tmp_path / "out", parts=["7"], run=measured)
    with pytest.raises(TrainingError, match="a seed is a whole number"):
        bench_emu(bench_set(), out=tmp_path / "out", seeds=[], run=measured)


class Page(HTMLParser):
    """The words of a page, its tags, and whatever it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [
            v for k, v in attrs if k in ("src", "href", "xlink:href") and not str(v).startswith("#")
        ]  # type: ignore[misc]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_report_holds_the_numbers_and_no_hostile_name_acts_in_it(tmp_path: Path) -> None:
    names = {"pool": '<script>alert(1)</script>"|`x`', "hotel": "=HYPERLINK(1)", "hours": "</svg>$a$ & b"}
    labelled = bench_set(("en", "de"), names)
    labelled = LabelledSet(labelled.frame, "evil | <img src=x> `name`\n# head")
    out = tmp_path / "out"

    def run(request: Request) -> CellResult:
        result = measured(request)
        rows = tuple(range(12))
        points = tuple((float(i % 4), float(i // 4)) for i in rows)
        return CellResult(correct=result.correct, map_rows=rows, map_points=points)

    report = bench_emu(labelled, out=out, parts=["2", "3", "4", "5", "figure2"], device="cpu", run=run)
    page = Page((out / "report.html").read_text("utf-8"))
    values = json.loads((out / "report.json").read_text("utf-8"))
    markdown = (out / "report.md").read_text("utf-8")
    assert "script" not in page.tags and "img" not in page.tags and page.loads == []
    assert page.tags.count("svg") == 2 and page.tags.count("table") == len(report.tables) + len(report.paper)
    assert names["pool"] in "".join(page.words) and names["hours"] in "".join(page.words)
    assert "<img" not in markdown and "\n# head" not in markdown
    emu = values["tables"]["table2"]["emu"]["accuracy"]["en-de"]
    cell = json.loads((out / "cells" / "method.emu.en.s0.json").read_text())
    bits = cell["result"]["correct"]["en-de"]
    assert emu == pytest.approx(100 * bits.count("1") / len(bits))
    row = next(row for row in report.tables[0].rows if row[0] == "Emu")
    assert "| " + " | ".join(map(plain, row)) + " |" in markdown
    assert f"<td>{html.escape(row[4])}</td>" in (out / "report.html").read_text("utf-8")
    assert values["data_sha256"] == bench_data(labelled).whole.sha256()
    assert "78.5***" in "".join(page.words)  # the paper's own
    for table in (*report.tables, *report.paper):
        frame = pd.read_csv(out / f"{table.name}.csv", dtype=str, keep_default_na=False)
        assert len(frame) == len(table.rows)
        assert not frame.map(lambda value: value.startswith(("=", "+", "-", "@"))).to_numpy().any()


def test_markdown_of_a_hostile_name_is_plain() -> None:
    assert plain("a|b\n# `c` [d](e) <i>") == r"a\|b \# \`c\` \[d\](e) &lt;i&gt;"


def test_a_cell_in_its_own_process_measures_what_the_library_measures(tiny: str, tmp_path: Path) -> None:
    request = request_of(BASE, tmp_path, tiny)
    result = in_process(request)
    assert result.not_measured == ""
    expected = measure(bench_data(bench_set()).test, load_encoder(tiny).encode)
    assert set(result.correct) == set(expected.correct)
    for direction, right in expected.correct.items():
        assert result.correct[direction].tolist() == right.tolist()
    assert result.peak_mb > 100 and result.seconds == 0 and result.seconds_whole > 0
    assert len(result.map_points) == len(result.map_rows) == 12


def test_the_process_of_a_cell_ends_with_its_parent(tiny: str, tmp_path: Path) -> None:
    request = request_of(Cell(Kind.METHOD, "softmax", ("en",)), tmp_path, tiny)
    endless = request_of(request.cell, tmp_path, tiny).to_json().replace('"epochs": 1', '"epochs": 1000000')
    worker = [sys.executable, "-m", "emu_core.bench.worker", str(tmp_path / "out.json")]
    with subprocess.Popen(worker, stdin=subprocess.PIPE, cwd=ROOT) as process:
        process.communicate(
            endless.encode() + b"\n", timeout=120
        )  # closes the pipe, as a parent's death does
        assert process.returncode == 3
    assert not (tmp_path / "out.json").exists()


def test_a_process_that_dies_leaves_its_last_words(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nprint('no luck', file=sys.stderr)\nos._exit(9)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = in_process(request_of(BASE, tmp_path, tiny))
    assert result.not_measured == "its process ended with code 9: no luck"


@pytest.mark.parametrize("method", ["emu", "posterior"])
def test_a_method_is_trained_by_the_library(tiny: str, tmp_path: Path, method: str) -> None:
    from emu_core import train

    result = run_cell(request_of(Cell(Kind.METHOD, method, ("en",), 1), tmp_path, tiny))
    data = bench_data(bench_set())
    request = request_of(Cell(Kind.METHOD, method, ("en",), 1), tmp_path, tiny)

    run = train(
        data.train,
        out=tmp_path / "run",
        method=method,
        encoder=tiny,
        seed=1,
        device="cpu",
        config=request.setting.config(Method(method)),
    )
    expected = measure(data.test, load_encoder(f"run:{run.folder}").encode)
    for direction, right in expected.correct.items():
        assert result.correct[direction].tolist() == right.tolist()
    assert 0 < result.seconds < result.seconds_whole


def test_an_emu_error_is_a_reason_and_not_a_crash(tiny: str, tmp_path: Path) -> None:
    frame = bench_set().frame.assign(id="")
    frame["id"] = ""
    data = bench_data(LabelledSet(frame, "tiny"))
    request = request_of(Cell(Kind.METHOD, "emu-parallel", ("en",)), tmp_path, tiny)
    data.whole.frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(TrainingError, match="needs each labelled sentence's translation by id"):
        run_cell(request)


def test_the_translation_baseline_measures_the_translations(tiny: str, tmp_path: Path) -> None:
    frame = bench_set().frame
    frame.loc[frame["language"] == "de", "text"] += " ?"
    english = dict(
        zip(
            frame.loc[frame["language"] == "en", "id"],
            frame.loc[frame["language"] == "en", "text"],
            strict=True,
        )
    )
    path = tmp_path / "translated.csv"
    frame.assign(translation=frame["id"].map(english)).to_csv(path, index=False)
    report = bench_emu(
        str(path), out=tmp_path / "out", encoder=tiny, parts=["2"], device="cpu",
        run=lambda r: run_cell(r) if r.cell.kind in (Kind.BASE, Kind.TRANSLATION) else measured(r),
    )  # fmt: skip
    data = report.tables[0].data
    # German translated back word for word into the English sentence: every direction is then English to English.
    assert set(data["mt"]["accuracy"].values()) == {data["base"]["accuracy"]["en-en"]}
    frame.assign(translation="").to_csv(path, index=False)
    report = bench_emu(str(path), out=tmp_path / "two", parts=["2"], device="cpu", run=measured)
    assert "holds no machine translations" in report.tables[0].rows[0][1]


def test_the_command_prints_one_object(
    tmp_path: Path, tiny: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import emu_core.bench.bench as module

    monkeypatch.setattr(module, "in_process", measured)
    monkeypatch.setitem(bench_emu.__kwdefaults__, "run", measured)
    arguments = ["bench", "emu", str(bench_file(tmp_path)), "--out", str(tmp_path / "out"), "--tables", "5"]
    assert main([*arguments, "--seeds", "0", "1", "--device", "cpu", "--json"]) == 0
    printed = capsys.readouterr()
    values = json.loads(printed.out)
    assert values["seeds"] == [0, 1] and set(values["tables"]) == {"table5"}
    assert "base encoder: 0 of 7 cells are done" in printed.err
    assert main([*arguments, "--seeds", "0", "--device", "cpu"]) == 0
    assert "language discriminator" in capsys.readouterr().out


def test_peak_memory_sees_what_is_let_go_again() -> None:
    with PeakMemory() as before:
        pass
    with PeakMemory() as memory:
        held = np.ones(40_000_000)  # 305 MB
        memory._look()
        del held
    assert memory.megabytes > before.megabytes + 250
    assert os.getpid() == memory._process.pid


def test_the_processor_is_timed_apart_from_the_clock() -> None:
    start = Moment(1.0, 10.0)
    assert since(start, Moment(4.0, 12.0)) == Took(3.0, 2.0)
    first = now()
    total = sum(i * i for i in range(300_000))
    took = since(first)
    assert total > 0 and took.cpu_seconds > 0 and took.seconds > 0
