"""The app as it is served: large downloads are sent in pieces from the disk and never fill the memory."""

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from streamlit.starlette import App

PIECE = 2**18  # bytes
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
    """Leads `/workbench` to the start, which is the workbench: the other pages have such addresses."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        """Wrap the application that answers."""
        self._app = app

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Send) -> None:
        """Answer a request."""
        named = scope["type"] == "http" and scope["path"].rstrip("/").endswith("/workbench")
        if not named:
            return await self._app(scope, receive, send)
        up = ".." if scope["path"].endswith("/") else "."
        query = scope["query_string"].decode("latin-1")
        await RedirectResponse(f"{up}/{query and '?'}{query}")(scope, receive, send)


app = App(Path(__file__).parents[1] / "main.py", middleware=[Middleware(StartByName), Middleware(InPieces)])
