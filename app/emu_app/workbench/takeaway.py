"""Downloads: what the workbench shows, its vectors and its encoders."""

import shlex
from functools import partial
from io import RawIOBase
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from emu_app.panels.context import Context
from emu_app.shell.model_name import short_name
from emu_app.shell.session import Remembered
from emu_app.shell.users import all_runs_root
from emu_app.shell.widgets import choose_one, draw_download, draw_notebook_button
from emu_app.work import cache, tasks
from emu_app.work.vectors import download_path
from emu_app.workbench.subject import Space, Subject
from emu_core.encoders.base import FloatArray
from emu_core.exporting import ExportFormat
from emu_core.reports.comparison_page import comparison_page

# Of each format, its title and the end of the exported folder's name.
_FORMATS = {
    ExportFormat.SENTENCE_TRANSFORMERS: ("sentence-transformers", "st"),
    ExportFormat.ONNX: ("ONNX", "onnx"),
}
_ASKED = Remembered("download-asked", "")  # the key of the task that makes it


def draw_take_away(space: Space, subject: Subject, now: Context) -> None:
    """Offer what the page shows as files, the encoders, and the same steps in Python and on the command line."""
    run = now.run
    with st.container(horizontal=True):
        if subject.is_measured:
            draw_download(
                "Everything as one page",
                lambda: comparison_page(subject.comparison),
                f"emu-{'comparison' if run is None else run.name}.html",
                help="With interactive charts that need no network.",
            )
        if run is not None and run.config().encoder:
            about = {"is_demo": now.chosen.is_demo, "split": now.on}
            draw_notebook_button(run.name, run.plan(), run.folder, **about)
        for name, vectors in space.vectors.items():
            draw_download(
                f"Vectors of {name}",
                partial(_parquet, space, vectors),
                f"emu-vectors-{name.lower()}.parquet",
                help="Parquet: the sentences on the maps with their vectors.",
            )
    _draw_encoder_download(space)
    *_, spec = space.specs.values()
    st.caption("In Python:")
    st.code(
        "from emu_core import load_encoder\n\n"
        f"encoder = load_encoder({spec!r})\n"
        'vectors = encoder.encode(["Where is the pool?", "Wo ist das Schwimmbad?"])'
    )
    if run is not None:
        st.caption("The same export on the command line:")
        export = f"emu export {shlex.quote(str(run.folder))} --format"
        commands = [f"{export} {format} --out {run.name}-{end}" for format, (_, end) in _FORMATS.items()]
        st.code("\n".join(commands), language="bash")


def _draw_encoder_download(space: Space) -> None:
    """Offer an encoder as a zip for other programs; a worker makes it on the disk."""
    st.markdown("**An encoder for other programs**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        named = list(space.specs)
        name = choose_one("Encoder", named, "download-encoder", default=named[-1])
        titles = {format: title for format, (title, _) in _FORMATS.items()}
        format = choose_one("Format", list(titles), "download-format", format_func=titles.__getitem__)
        spec = space.specs[name if name in named else named[-1]]
        path, key = download_path(all_runs_root(), spec, format), f"export:{spec}:{format}"
        title = f"{short_name(spec)}-{_FORMATS[format][1]}".replace("/", "-")
        if path.is_file():
            draw_download(
                f"Download {title}.zip ({path.stat().st_size / 1e6:,.0f} MB)",
                _OnDisk(path),
                f"{title}.zip",
                type="primary",
                help="A folder; its README.md explains how to open it.",
            )
        elif st.button("Prepare the zip", icon=":material/folder_zip:"):
            _ASKED.set(key)
    if _ASKED.get() == key and not path.is_file():
        label = (
            f"{name}: opening the encoder, exporting and checking it for {titles[format]}, packing the files"
        )
        if cache.computed(key, label, tasks.export_to_zip, spec, format, title, path):
            _ASKED.forget()
            cache.background().forget(key)  # the file is there
            st.rerun()


class _OnDisk(RawIOBase):
    """A file to download that is not in memory: Streamlit reads a memory map of it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def read(self, size: int = -1) -> Any:
        with self._path.open("rb") as file:
            return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))


def _parquet(space: Space, vectors: FloatArray) -> bytes:
    table = space.points.drop(columns="row").assign(vector=list(np.asarray(vectors)))
    return bytes(table.to_parquet(index=False))
