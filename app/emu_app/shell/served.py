"""The app as it is served: ready before the first request, and with large downloads sent in pieces from the disk."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from streamlit.starlette import App

from emu_app.shell.first_run import place_where_empty
from emu_app.shell.users import all_runs_root

PIECE = 2**18  # bytes
# What the first page imports, which takes seconds. Only once the server runs: Streamlit's caches belong to it.
_FIRST_PAGE = ("emu_app.main", "emu_app.workbench.drawer", "emu_app.workbench.maps")
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


@asynccontextmanager
async def ready(_app: App) -> AsyncIterator[None]:
    """Begin to place the demo run and to import what the first page needs; the server listens meanwhile."""

    def import_first_page() -> None:
        for module in _FIRST_PAGE:
            import_module(module)

    place_where_empty(all_runs_root())
    threading.Thread(target=import_first_page, daemon=True).start()
    yield


app = App(
    Path(__file__).parents[1] / "main.py",
    lifespan=ready,
    middleware=[Middleware(StartByName), Middleware(InPieces)],
)
