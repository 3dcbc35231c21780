"""Neither Emu nor a library below it looks up or connects to another machine unless a download is asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiny_transformer import tiny_transformer

pytestmark = pytest.mark.slow

COMMIT = "0" * 40
SCRIPT = """
import sys

reached = []


def watch(event, args):
    if event == "socket.getaddrinfo":
        reached.append(str(args[0]))
    elif event == "socket.connect" and isinstance(args[1], tuple):
        reached.append(str(args[1]))


sys.addaudithook(watch)
from emu_core import export, load_encoder, train
from emu_core.errors import EncoderError

folder, adapted, labelled, out = sys.argv[1:]
for name in (folder, "acme/tiny"):
    load_encoder("hf:" + name).encode(["Where is the pool?"])
try:
    load_encoder("hf:" + adapted)
    raise SystemExit("an adapter of a model that is not here was opened")
except EncoderError:
    pass
train(labelled, encoder="hf:" + folder, out=out)
export(out, out + "-onnx", format="onnx")
print(*reached, sep="\\n")
"""


def test_nothing_is_reached_and_no_device_is_named(tmp_path: Path) -> None:
    folder = tiny_transformer(tmp_path / "tiny")
    adapted = tiny_transformer(tmp_path / "adapted")
    adapter = {
        "peft_type": "LORA",
        "base_model_name_or_path": "acme/other",
        "task_type": "FEATURE_EXTRACTION",
    }
    (adapted / "adapter_config.json").write_text(json.dumps(adapter), "utf-8")
    repository = tmp_path / "hub" / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT, "utf-8")
    (repository / ".no_exist" / COMMIT).mkdir(parents=True)
    # So the cache notes a model of transformers only.
    (repository / ".no_exist" / COMMIT / "modules.json").touch()
    (repository / "snapshots").mkdir()
    tiny_transformer(repository / "snapshots" / COMMIT)
    rows = [
        f"{word} {what},{what},en" for what in ("pool", "hotel") for word in ("where", "when", "the", "a")
    ]
    (tmp_path / "labelled.csv").write_text("\n".join(["text,intent,language", *rows]), "utf-8")
    home = tmp_path / "home"
    home.mkdir()
    own = ("HF_", "TRANSFORMERS_", "ORT_", "XDG_", "DO_NOT_TRACK", "DISABLE_TELEMETRY")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    environment |= {"HOME": str(home), "HF_HUB_CACHE": str(tmp_path / "hub")}
    arguments = [folder, adapted, tmp_path / "labelled.csv", tmp_path / "run"]
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
    # onnxruntime's own sockets are not Python's: what it would send is kept with a device's id under the home folder.
    assert [path for path in home.rglob("*") if "Microsoft" in path.parts] == []
