"""The page's server of an ONNX export, as it is written there: it answers many people from few calls of the encoder."""

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import httpx
import numpy as np
import pytest

from emu_core import export, load_encoder
from emu_core.encoders.base import FloatArray
from tests.support.docs_pages import blocks
from tests.support.paths import DOCS

TEXTS = ["Where is the pool?", "", "Wo ist der Pool?", "A taxi, please. " * 200, "游泳池在哪里？"]


def server(encode: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the names of the page's server, over a function instead of the module of the README's code."""
    (code,) = [block.text for block in blocks(DOCS / "how-to" / "export.md") if block.title == "serve.py"]
    module = ModuleType("encoder")
    module.encode = encode  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "encoder", module)
    names: dict[str, Any] = {}
    exec(compile(code, "serve.py", "exec"), names)  # noqa: S102 - our own page
    return names


def client_of(app: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://server", timeout=60)


async def at_once(app: Any, *asked: Sequence[str]) -> list[httpx.Response]:
    async with client_of(app) as client:
        return await asyncio.gather(*(client.post("/encode", json=list(texts)) for texts in asked))


@pytest.mark.slow
def test_it_serves_the_vectors_of_the_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export("use", tmp_path / "out", format="onnx")
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own README
    app = server(names["encode"], monkeypatch)["app"]
    answers = asyncio.run(at_once(app, TEXTS, [], TEXTS[:1]))
    vectors = np.array(answers[0].json())
    np.testing.assert_allclose(vectors, load_encoder("use").encode(TEXTS), rtol=0, atol=1e-5)
    assert answers[1].json() == [] and len(answers[2].json()) == 1


def test_texts_that_wait_are_encoded_together_and_a_failure_is_not_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batches: list[list[str]] = []
    all_wait = Event()

    def encode(texts: Sequence[str]) -> FloatArray:
        batches.append(list(texts))
        assert all_wait.wait(60)
        if "broken" in texts:
            raise ValueError("broken")
        return np.array([[float(text)] for text in texts], np.float32)

    names = server(encode, monkeypatch)

    async def conversation() -> list[httpx.Response]:
        asked = asyncio.create_task(at_once(names["app"], *([str(number)] for number in range(9))))
        while not batches or len(names["waiting"]) < 9:
            await asyncio.sleep(0)
        all_wait.set()
        return await asked

    answers = asyncio.run(conversation())
    assert [answer.json() for answer in answers] == [[[float(number)]] for number in range(9)]
    first, others = batches
    assert sorted(first + others) == [str(number) for number in range(9)]
    failed, works = asyncio.run(one_after_another(server(encode, monkeypatch)["app"], ["broken"], ["7"]))
    assert failed.status_code == 500 and works.json() == [[7.0]]


async def one_after_another(app: Any, *asked: Sequence[str]) -> list[httpx.Response]:
    async with client_of(app) as client:
        return [await client.post("/encode", json=list(texts)) for texts in asked]
