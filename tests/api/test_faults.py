"""A full disk, a folder that takes nothing or is gone: one sentence, and what is there is whole or unfinished."""

import os
import signal
from pathlib import Path

import pytest

from emu_core import configure, export, resume
from emu_core.api.generate import _write as write_generated
from emu_core.api.pretrain import plan_pretraining
from emu_core.bench.experiment import Experiment
from emu_core.bench.results import Cell, CellResult
from emu_core.cli import main
from emu_core.data.texts.tasks import Tasks
from emu_core.errors import Call, Fix, RunError
from emu_core.runs.run import Run, RunState, create_run
from tests.support.bench_cells import drawn
from tests.support.bench_cells import run as run_bench
from tests.support.processes import exit_code, full_disk
from tests.support.raises import raises
from tests.support.short_plans import TEXT, parallel_text
from tests.support.small import small_file

FILES = {"en.csv": b"a dog", "de.csv": b"ein Hund", "README.md": b"words"}
SEALED = Path("/sys")  # where not even root may make a file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run") / "r"
    plan = plan_pretraining(Tasks([parallel_text()]), method="bicvm", config=configure("bicvm", **TEXT))
    return resume(create_run(folder, *plan).folder)


def export_on_full_disk(folder: str, out: str, format: str) -> None:
    full_disk(300)
    try:
        export(folder, out, format=format)
    except RunError as error:
        os._exit(2 if out in str(error) and error.fix == Fix("out") else 3)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["sentence-transformers", "onnx"])
def test_an_export_to_a_full_disk_is_one_sentence_and_no_folder(
    format: str, run: Run, tmp_path: Path
) -> None:
    assert exit_code(export_on_full_disk, str(run.folder), str(tmp_path / "e"), format) == 2
    assert list(tmp_path.iterdir()) == []


def bench_on_full_disk(out: str) -> None:
    def run_cell(experiment: Experiment, cell: Cell) -> CellResult:
        full_disk(300)
        return drawn(experiment, cell)

    try:
        run_bench("emu", Path(out), run_cell=run_cell)
    except RunError as error:
        os._exit(2 if error.fix == Call("resume", out) else 3)


@pytest.mark.slow
def test_a_benchmark_on_a_full_disk_is_one_sentence_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert exit_code(bench_on_full_disk, str(out)) == 2
    assert Run(out).status().state is not RunState.FINISHED and not list(out.glob("cells/*.parquet"))
    report = run_bench("emu", out)
    assert Run(out).status().state is RunState.FINISHED and not report.errors


def test_a_benchmark_whose_folder_is_gone_is_one_sentence(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def run_cell(experiment: Experiment, cell: Cell) -> CellResult:
        out.rename(tmp_path / "gone")
        return drawn(experiment, cell)

    with raises(RunError, fix=Call("resume", str(out)), match="No such file or directory"):
        run_bench("emu", out, run_cell=run_cell)
    assert Run(tmp_path / "gone").status().state is not RunState.FINISHED


@pytest.mark.skipif(not SEALED.is_dir(), reason="no such folder here")
@pytest.mark.parametrize("verb", ["train", "pretrain", "bench", "export", "embed"])
def test_a_folder_that_takes_nothing_is_one_sentence(
    verb: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = parallel_text()
    for language, lines in (("en", text.first), ("de", text.second)):
        (tmp_path / f"words.{language}").write_text("\n".join(lines), "utf-8")
    data = str(small_file(tmp_path, ("en", "de")))
    given = {
        "train": [data],
        "pretrain": [str(tmp_path / "words.en"), str(tmp_path / "words.de"), "--method", "bicvm"],
        "bench": ["emu", data],
        "export": [str(run.folder)],
        "embed": [str(tmp_path / "words.en"), "--run", str(run.folder)],
    }
    out = SEALED / ("v.parquet" if verb == "embed" else "emu")
    assert main([verb, *given[verb], "--out", str(out)]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert (str(out) in told and "--out" in told) or "another folder" in told
    assert not out.exists()


def generate_and_die(out: str, number: int) -> None:
    """Write generated files, and die instead of the write of a file or a renaming of this number."""
    done = 0

    def counted(name: str, owner: type[Path]) -> None:
        before = getattr(owner, name)

        def counting(self: Path, *arguments: object) -> object:
            nonlocal done
            done += 1
            if done == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return before(self, *arguments)

        setattr(owner, name, counting)

    counted("write_bytes", Path)
    counted("rename", Path)
    write_generated(Path(out), FILES)


def test_generated_files_are_all_there_or_none(tmp_path: Path) -> None:
    died = 0
    for number in range(1, 9):
        out = tmp_path / str(number)
        if exit_code(generate_and_die, str(out), number) == 0:
            break
        died += 1
        assert not out.exists()
    assert died == 4  # two languages, the note, and the renaming
    write_generated(tmp_path / "1", FILES)  # where one died, it goes well again
    assert {path.name: path.read_bytes() for path in (tmp_path / "1").iterdir()} == FILES
