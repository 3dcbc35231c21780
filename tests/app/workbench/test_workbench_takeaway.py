"""An encoder taken away as a zip."""

import shutil
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from emu_app.work.tasks import export_to_zip
from emu_app.workbench.takeaway import _OnDisk
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.sentence_transformers_module import EmuModule
from emu_core.errors import EmuError
from emu_core.exporting import ExportFormat
from emu_core.runs.run import Run
from tests.support.app_pages import compare, press
from tests.support.at_once import AtOnce
from tests.support.workbench_pages import TRIPLE, linked


@pytest.mark.slow
@pytest.mark.parametrize("name", ["A", "B"])
def test_an_encoder_is_made_a_zip_beside_the_page_and_downloaded(
    own_run: Run, worker: AtOnce, name: str, tmp_path: Path
) -> None:
    app = compare(linked(), "Take away", **{"download-encoder": name})
    worker.endless = "export:"
    press(app, "Prepare the zip")
    assert "packing the files" in app.get("progress")[-1].proto.text
    worker.endless = "none"
    app.run()
    title = {"A": "use-st", "B": "own-st"}[name]
    (button,) = [one.proto for one in app.get("download_button") if one.proto.label.startswith("Download")]
    assert button.label.startswith(f"Download {title}.zip (") and not app.exception
    (path,) = (own_run.folder.parent / ".downloads").iterdir()  # no folder that it was made in
    content = _OnDisk(path).read()
    assert isinstance(content, memoryview) and bytes(content) == path.read_bytes()
    with ZipFile(path) as archive:
        assert {entry.split("/")[0] for entry in archive.namelist()} == {title}
        assert f"{title}/README.md" in archive.namelist() and archive.testzip() is None
        archive.extractall(tmp_path / "out")
    spec = {"A": "use", "B": f"run:{own_run.folder}"}[name]
    opened = EmuModule.load(str(tmp_path / "out" / title)).encoder
    np.testing.assert_allclose(opened.encode(TRIPLE), load_encoder(spec).encode(TRIPLE), atol=1e-5)


def test_what_can_not_be_exported_is_said(own_run: Run) -> None:
    shutil.rmtree(own_run.encoder_folder)
    with pytest.raises(EmuError):
        export_to_zip(
            f"run:{own_run.folder}", ExportFormat.ONNX, "own", own_run.folder.parent / ".d" / "x.zip"
        )
    assert not list((own_run.folder.parent / ".d").iterdir())
