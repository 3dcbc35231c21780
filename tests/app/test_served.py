"""What is served: a large download goes out in pieces, and whatever else is answered as it was."""

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import streamlit
from streamlit.testing.v1 import AppTest

from emu_app.shell.served import _ELEMENTS, PIECE, InPieces, ScriptsPreloaded, app
from tests.support.paths import ROOT

Message = MutableMapping[str, Any]


def answered(middleware: Any, scope: Message, body: object) -> list[Message]:
    """What goes out where an application in this middleware answers with a body."""
    messages: list[Message] = []

    async def answer(scope: Message, receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def take(message: Message) -> None:
        messages.append(message)

    async def nothing() -> Message:
        return {}

    asyncio.run(middleware(answer)(scope, nothing, take))
    assert messages[0]["type"] == "http.response.start"
    return messages


def sent(body: object) -> list[Message]:
    return answered(InPieces, {"type": "http"}, body)[1:]


def test_a_view_of_a_file_goes_out_in_pieces() -> None:
    content = bytes(range(256)) * (PIECE // 100)
    messages = sent(memoryview(content))
    assert len(messages) == -(-len(content) // PIECE) + 1
    assert all(type(one["body"]) is bytes and len(one["body"]) <= PIECE for one in messages)
    assert [one.get("more_body", False) for one in messages] == [True] * (len(messages) - 1) + [False]
    assert b"".join(one["body"] for one in messages) == content


def test_all_else_is_sent_as_it_was() -> None:
    assert sent(b"page") == [{"type": "http.response.body", "body": b"page"}]
    assert app.script_path.name == "main.py" and app.script_path.is_file()


def test_the_start_has_the_scripts_of_the_first_page_fetched_and_all_else_has_not() -> None:
    static = Path(streamlit.__file__).parent / "static"
    start = (static / "index.html").read_text("utf-8")
    for path, is_start in (("/", True), ("/emu/", True), ("/_stcore/health", False)):
        messages = answered(ScriptsPreloaded, {"type": "http", "path": path}, b"page")
        links = [value.decode() for name, value in messages[0]["headers"] if name == b"link"]
        assert bool(links) is is_start, path
        if not is_start:
            continue
        scripts = [link.removeprefix("<./").removesuffix(">; rel=modulepreload") for link in links]
        assert {Path(script).name.partition(".")[0] for script in scripts} >= set(_ELEMENTS)
        for script in scripts:
            assert script not in start
            for imported in (static / script).read_text("utf-8").split('from"./')[1:]:
                needed = "static/js/" + imported[: imported.index('"')]
                assert needed in start or needed in scripts, script


def test_the_script_beside_the_package_draws_the_same_app() -> None:
    script = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=60).run()
    assert not script.exception and script.title[0].value == "Compare"
