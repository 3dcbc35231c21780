import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from emu_app.forms import starting
from emu_app.forms.starting import device_titles
from emu_app.work import cache, tasks
from emu_app.work.background import Pending
from emu_app.work.vectors import FOLDER, prune, vectors_path, weights_of
from emu_core import devices
from emu_core.devices import Device, available_devices
from emu_core.runs.run import RUN_NAME


def test_a_file_is_named_by_encoder_set_and_texts(tmp_path: Path) -> None:
    given = [("w", "s", ["a", "b"]), ("v", "s", ["a", "b"]), ("w", "t", ["a", "b"]), ("w", "s", ["b", "a"])]
    given += [("w", "s", ["ab"]), ("w", "s", ["a", "b", ""]), ("w", "s", ['a", "b']), ("w", "sa", ["b"])]
    paths = [vectors_path(tmp_path, *each) for each in given]
    assert len(set(paths)) == len(paths)
    assert paths[0] == vectors_path(tmp_path, "w", "s", ("a", "b"))
    assert all(path.parent == tmp_path / FOLDER for path in paths)
    assert not RUN_NAME.fullmatch(FOLDER)  # so that it is never taken for a run


def test_hostile_texts_and_names_stay_in_the_folder(tmp_path: Path) -> None:
    path = vectors_path(tmp_path, "../w", "../../etc", ["../x", "\0", "\ud800"])
    assert path.parent == tmp_path / FOLDER


def test_weights_change_with_the_files_of_a_run(tmp_path: Path) -> None:
    weights = tmp_path / "encoder" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"1234")
    first = weights_of(f"run:{tmp_path}")
    assert weights_of(f"run:{tmp_path}") == first
    os.utime(weights, ns=(1, 1))  # trained anew, to the same size
    second = weights_of(f"run:{tmp_path}")
    weights.write_bytes(b"12345")
    os.utime(weights, ns=(1, 1))
    assert len({first, second, weights_of(f"run:{tmp_path}"), weights_of("use")}) == 4


def test_vectors_of_another_precision_are_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    in_fp32 = weights_of("e5-small")
    monkeypatch.setenv("EMU_PRECISION", "bf16")
    assert weights_of("e5-small") != in_fp32
    monkeypatch.setenv("EMU_PRECISION", "fp32")
    assert weights_of("e5-small") == in_fp32


def test_a_form_says_that_a_device_computes_vectors_in_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(device_titles().values()) == [device.label for device in available_devices()]
    monkeypatch.setenv("EMU_PRECISION", "bf16")
    assert device_titles()["cpu"] == f"{available_devices()[-1].label}, vectors in bf16"


def test_a_form_asks_for_the_precision_where_a_gpu_has_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMU_PRECISION", raising=False)
    gpu = Device("cuda:0", "Fast GPU (GPU 0)")
    monkeypatch.setattr(devices, "available_devices", lambda: (gpu, Device("cpu", "CPU")))
    monkeypatch.setattr(starting, "available_devices", devices.available_devices)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **about: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (3 * 2**30, 8 * 2**30))
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)

    def form() -> None:
        import streamlit as st

        from emu_app.forms.starting import draw_device, draw_precision

        st.text(repr(draw_precision("train", draw_device("train"))))

    app = AppTest.from_function(form).run()
    assert app.selectbox(key="train-device").options[0] == gpu.label
    assert "3.0 of 8.0 GB" in app.caption[0].value
    assert app.selectbox(key="train-precision-cuda:0").options == ["float32", "bfloat16"]
    assert app.text[0].value == "None"  # the usual one
    app.selectbox(key="train-precision-cuda:0").set_value("bf16").run()
    assert app.text[0].value == "'bf16'"
    app.selectbox(key="train-device").set_value("cpu").run()
    assert len(app.selectbox) == 1 and not app.caption and app.text[0].value == "None"
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    app.run()
    assert app.selectbox(key="train-precision-cpu").options == [
        "float32, vectors in bfloat16",
        "float32",
        "bfloat16",
    ]


def test_a_gpu_whose_memory_can_not_be_asked_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(device: str) -> tuple[int, int]:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch.cuda, "mem_get_info", full)
    assert devices.free_memory("cuda:0") is None and devices.free_memory("cpu") is None


def test_the_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    for age, name in enumerate(("old", "middle", "new")):
        path = tmp_path / f"{name}.npy"
        path.write_bytes(b"x" * 100)
        os.utime(path, (age, age))
    prune(tmp_path, max_bytes=250)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["middle", "new"]
    prune(tmp_path, max_bytes=10)
    assert [path.stem for path in tmp_path.iterdir()] == ["new"]  # the newest stays, whatever its size


class Lengths:
    """An encoder in small: a text's vector is its length, twice."""

    dim, precision = 2, "fp32"

    def encode(self, texts: list[str], on_progress: object) -> np.ndarray:
        return np.array([[len(text)] * 2 for text in texts], dtype=np.float32)


def test_vectors_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_encoder", lambda spec, weights: Lengths())
    path = tmp_path / "deep" / "v.npy"
    tasks.encode_to_file("use", "w", ["a", "bcd"], path)
    assert np.load(path).tolist() == [[1, 1], [3, 3]]
    assert list(path.parent.iterdir()) == [path]  # nothing half-written beside it


class Slow:
    """A worker in small, whose tasks take as long as it is waited for."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.waits_s: list[float] = []

    def wait(self, key: str, timeout_s: float) -> Pending:
        self.waits_s.append(timeout_s)
        self.now_s += timeout_s
        return Pending(key)


def test_a_run_of_the_page_waits_once_for_all_its_tasks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Slow()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "time", SimpleNamespace(monotonic=lambda: worker.now_s))
    monkeypatch.setattr(cache.st, "session_state", {})
    monkeypatch.setattr(cache, "embeddings", lambda spec, *_, **__: Pending(spec))
    for _ in range(2):
        cache.wait_anew()
        so_far = cache.encoded_so_far({"A": "use", "B": "laser", "C": "e5-small"}, "", ["a"])
        assert so_far.pending == Pending("use") and not so_far.vectors
    assert worker.waits_s == pytest.approx([cache.WAITED_S, 0, 0] * 2)
