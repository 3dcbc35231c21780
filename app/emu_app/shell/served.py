"""The app as it is served: ready before the first request, and with large downloads sent in pieces from the disk."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import streamlit
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from streamlit.runtime import Runtime
from streamlit.starlette import App

from emu_app.shell.first_run import place_where_empty
from emu_app.shell.users import all_runs_root, server
from emu_core.errors import EmuError

PIECE = 2**18  # bytes
# What the first page imports, which takes seconds.
_FIRST_PAGE = ("emu_app.main", "emu_app.workbench.drawer", "emu_app.workbench.maps")
# Streamlit's scripts of the elements on the first page; the largest, which the maps need, comes last.
_ELEMENTS = (
    "Html", "PageLink", "Selectbox", "Progress", "ButtonGroup", "Multiselect", "TextInput", "Button", "BidiComponent",
    "PlotlyChart",
)  # fmt: skip
_IMPORTED = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"')
_Message = MutableMapping[str, Any]
Send = Callable[[_Message], Awaitable[None]]


class InPieces:
    """Sends a memory view of a file, as `emu_app.workbench.takeaway` offers it, in pieces.

    Sent whole, as Streamlit does, it would be copied four times.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        """Wrap the application that answers."""
        self._app = app

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Send) -> None:
        """Answer a request."""

        async def send_in_pieces(message: _Message) -> None:
            body = message.get("body", b"")
            if isinstance(body, memoryview):
                for start in range(0, len(body), PIECE):
                    await send({**message, "body": bytes(body[start : start + PIECE]), "more_body": True})
                message = {**message, "body": b""}
            await send(message)

        await self._app(scope, receive, send_in_pieces)


class StartByName:
    """Leads `/compare` to the start, which is that page: the other pages have such addresses.

    It had the address `/workbench` once.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        """Wrap the application that answers."""
        self._app = app

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Send) -> None:
        """Answer a request."""
        named = scope["type"] == "http" and scope["path"].rstrip("/").endswith(("/compare", "/workbench"))
        if not named:
            return await self._app(scope, receive, send)
        up = ".." if scope["path"].endswith("/") else "."
        query = scope["query_string"].decode("latin-1")
        await RedirectResponse(f"{up}/{query and '?'}{query}")(scope, receive, send)


def _scripts() -> list[str]:
    """Return the scripts of the first page's elements, and those that these import, as addresses.

    Without those of the start, which the page itself names.
    """
    static = Path(streamlit.__file__).parent / "static"
    folder, start = static / "static" / "js", (static / "index.html").read_text("utf-8")
    asked = [path for name in _ELEMENTS for path in folder.glob(f"{name}.*.js")]
    scripts: list[str] = []
    while asked:
        path = asked.pop(0)
        address = path.relative_to(static).as_posix()
        if address in scripts or address in start:
            continue
        scripts.append(address)
        asked += [folder / name for name in _IMPORTED.findall(path.read_text("utf-8"))]
    return scripts


class ScriptsPreloaded:
    """Has the browser fetch and compile the scripts of what the first page draws while it starts.

    Otherwise it asks for each when the first such element comes, and shows what is beside it later, too.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        """Wrap the application that answers."""
        self._app = app
        self._links = [(b"link", f"<./{name}>; rel=modulepreload".encode()) for name in _scripts()]

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Send) -> None:
        """Answer a request."""

        async def send_with_links(message: _Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self._links]}
            await send(message)

        is_start = scope["type"] == "http" and scope["path"].endswith("/")
        await self._app(scope, receive, send_with_links if is_start else send)


@asynccontextmanager
async def ready(_app: App) -> AsyncIterator[None]:
    """Place the demo run, import what the first page needs before the server listens, and draw it once meanwhile.

    Who signs in gets the demo run then. The imports are not before this, since Streamlit's caches belong to its
    runtime. What is drawn once is in these caches when somebody's browser, which takes a second to start, asks for it.
    """
    with suppress(EmuError):  # settings that can't be read, which the page says
        if not server().sign_in:
            place_where_empty(all_runs_root())
    for module in _FIRST_PAGE:
        import_module(module)
    drawing = asyncio.create_task(Runtime.instance().does_script_run_without_error())
    yield
    drawing.cancel()


app = App(
    Path(__file__).parents[1] / "main.py",
    lifespan=ready,
    middleware=[Middleware(StartByName), Middleware(ScriptsPreloaded), Middleware(InPieces)],
)
