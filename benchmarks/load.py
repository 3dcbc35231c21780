"""Measure the app under load: how long pages take for many sessions while a run trains, and whether memory grows.

    python -m benchmarks.load [--sessions 20] [--pages 10] [--only pages|class]

A session uses Streamlit's protocol as a browser does (a WebSocket, reruns of polling fragments, uploads by HTTP)
but draws nothing, since a user's browser runs on the user's machine. A page's time is from the request to the end of
its script. Between two pages a session stays on the first for one to five seconds.

Then one session after another visits 200 pages and makes 50 uploads, and the server's memory is measured before and
after.

Last, when nothing trains, as many pupils open the page Class at once, by the link that it shows a teacher, and walk
its path: they judge all pairs, expect something, read neighbours, guess, and spoil labels. A pupil's wait is from an
answer until the page shows what comes of it, a model that learns from spoilt labels included. Prints one JSON object.
"""

import argparse
import asyncio
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx2
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg, ForwardMsgList
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 120.0
LOOK_S = (1.0, 5.0)
ROWS = 200
STEPS = {  # of the page Class, with what it shows of each
    "Judge": "Which of the two asks for the same?",
    "Train": "What happens to ",
    "Explain": "Why did it go wrong?",
    "Break": "How many wrong labels does it stand?",
    "Sum up": "What was seen",
}


@dataclass
class Session:
    """A browser tab, as the server sees it."""

    host: str  # the server, such as "localhost:8501"
    name: str  # part of the name and the rows of the file that the session uploads
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of the visits to each page
    errors: list[str] = field(default_factory=list)  # exceptions, and contents of other sessions' files
    pages: dict[str, str] = field(default_factory=dict)
    id: str = ""
    uploader: str = ""
    widgets: dict[str, WidgetState] = field(default_factory=dict)
    reruns: dict[str, float] = field(default_factory=dict)
    page: str = ""
    query: dict[str, str] = field(default_factory=dict)  # of the page's address
    elements: dict[str, Any] = field(default_factory=dict)  # widgets and code of the page, by key or by label
    text: bytes = b""

    async def open(self) -> None:
        """Load the first page."""
        self.http = httpx2.AsyncClient(base_url=f"http://{self.host}", timeout=PATIENCE_S)
        await self.http.get("/_stcore/health")
        self.token = self.http.cookies.get("_streamlit_xsrf", "")
        cookie = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        self.socket: ClientConnection = await connect(
            f"ws://{self.host}/_stcore/stream",
            subprotocols=["streamlit", self.token or "PLACEHOLDER"],  # type: ignore[list-item]
            additional_headers={"Cookie": cookie},
            origin=f"http://{self.host}",  # type: ignore[arg-type]
            max_size=None,
        )
        await self.visit("")

    async def close(self) -> None:
        """Close the connection."""
        await self.socket.close()
        await self.http.aclose()

    async def visit(self, page: str) -> float:
        """Open a page by its name; return the seconds until its script has ended."""
        self.reruns, self.text, self.page, self.elements = {}, b"", page, {}
        start = time.perf_counter()
        await self._rerun()
        await self._until_finished()
        seconds = time.perf_counter() - start
        self.seconds.setdefault(page, []).append(seconds)
        return seconds

    async def look(self, seconds: float, shown: str | None = None) -> None:
        """Stay on the page for a while, or until it shows a text, and rerun its polling fragments."""
        end = time.monotonic() + seconds
        due: dict[str, float] = {}
        while (now := time.monotonic()) < end and (shown is None or shown.encode() not in self.text):
            for fragment, every in self.reruns.items():
                if due.setdefault(fragment, now + every) <= now:
                    await self._rerun(fragment)
                    due[fragment] = now + every
            with suppress(TimeoutError):
                await asyncio.wait_for(self._receive(), 0.1)

    async def upload(self, payload: bytes) -> None:
        """Upload a table on the Data page and wait until the page shows it."""
        self.uploader = ""  # of this page
        await self.visit("data")
        ask = BackMsg()
        ask.file_urls_request.request_id = uuid.uuid4().hex
        ask.file_urls_request.session_id = self.id
        name = f"{self.name}.csv"
        ask.file_urls_request.file_names.append(name)
        await self.socket.send(ask.SerializeToString())
        urls = None
        while urls is None:
            for message in await self._receive():
                if message.WhichOneof("type") == "file_urls_response":
                    urls = message.file_urls_response.file_urls[0]
        answer = await self.http.put(
            urls.upload_url, files={"file": (name, payload, "text/csv")}, headers={"X-Xsrftoken": self.token}
        )
        answer.raise_for_status()
        state = WidgetState(id=self.uploader)
        state.file_uploader_state_value.uploaded_file_info.add(
            file_id=urls.file_id, name=name, size=len(payload), file_urls=urls
        )
        self.widgets = {self.uploader: state}
        self.text = b""
        await self._rerun()
        end = time.monotonic() + PATIENCE_S
        while f"{self.name}intent9".encode() not in self.text:
            if time.monotonic() > end:
                self.errors.append(f"{name} was not shown")
                return
            await self.look(1.0)  # longer than the polling interval
        self.widgets = {}

    async def answer(self, name: str, shown: str, **value: Any) -> float:
        """Change a widget, or press a button, and return the seconds until the page shows a text.

        Args:
            name: the widget's key, or the button's label.
            shown: what comes of it.
            value: the field of the widget's state with its value, such as `string_value`.
        """
        state = WidgetState(id=self.elements[name].id, **value)
        self.widgets[name] = state
        self.text = b""
        start = time.perf_counter()
        await self._rerun()
        if state.trigger_value:
            del self.widgets[name]  # is pressed once
        await self._until_finished()
        return await self.until_shown(shown, start)

    async def until_shown(self, shown: str, start: float) -> float:
        """Stay on the page until it shows a text; return the seconds since the start."""
        await self.look(PATIENCE_S, shown)
        if shown.encode() not in self.text:
            raise TimeoutError(f"{self.page} did not show {shown!r}")
        return time.perf_counter() - start

    async def _rerun(self, fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = urlencode(self.query)
        state.page_script_hash = self.pages.get(self.page, "")
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        state.widget_states.widgets.extend(self.widgets.values())
        await self.socket.send(message.SerializeToString())

    async def _until_finished(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in await self._receive():
                    if message.WhichOneof("type") == "script_finished" and message.script_finished in (
                        ForwardMsg.FINISHED_SUCCESSFULLY,
                        ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
                    ):
                        return

    async def _receive(self) -> list[ForwardMsg]:
        """Receive the next frame of the socket."""
        frame = await self.socket.recv(decode=False)
        messages = _messages(frame)
        for message in messages:
            match message.WhichOneof("type"):
                case "new_session":
                    self.id = message.new_session.initialize.session_id or self.id
                    if not message.metadata.run.fragment_ids:  # a whole run, in which other fragments poll
                        self.reruns = {}
                case "stop_auto_rerun":
                    for fragment in message.stop_auto_rerun.fragment_ids:
                        self.reruns.pop(fragment, None)
                case "navigation":
                    self.pages = {
                        page.url_pathname: page.page_script_hash for page in message.navigation.app_pages
                    }
                case "auto_rerun":
                    self.reruns[message.auto_rerun.fragment_id] = message.auto_rerun.interval
                case "delta":
                    element = message.delta.new_element
                    if element.WhichOneof("type") == "file_uploader" and not self.uploader:
                        self.uploader = element.file_uploader.id
                    self._note(element)
                    if element.WhichOneof("type") == "exception":
                        self.errors.append(f"{self.page}: {element.exception.message[:200]}")
        self.text += frame
        # The library lists every file by name, but must not show the contents of another session's.
        for other in set(re.findall(rb"(mark\d+x)intent", frame)) - {self.name.encode()}:
            self.errors.append(f"{self.page} shows {other.decode()} to the session of {self.name}")
        return messages

    def _note(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "button":
            self.elements[element.button.label] = element.button
        elif kind == "code":
            self.elements["code"] = element.code
        elif kind in ("radio", "selectbox", "slider", "checkbox", "button_group"):
            widget = getattr(element, kind)
            key = widget.id.split("-", 2)[-1]  # an id ends with the widget's key, behind a hash
            self.elements[key] = widget


def _messages(frame: bytes) -> list[ForwardMsg]:
    message = ForwardMsg.FromString(frame)
    return [message] if message.WhichOneof("type") else list(ForwardMsgList.FromString(frame).messages)


def table(name: str) -> bytes:
    """Return a labelled set of 200 rows that no other session has."""
    rows = [
        f"{name} asks for {n % 10} and {n},{name}intent{n % 10},{'en' if n % 2 else 'de'}"
        for n in range(ROWS)
    ]
    return "\n".join(["text,intent,language", *rows]).encode()


async def walk(session: Session, pages: int, seed: int) -> None:
    """Upload a table and visit pages in some order."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    try:
        await session.open()
        await session.upload(table(session.name))
        names = list(session.pages)
        for _ in range(pages):
            await session.visit(draw.choice(names))
            await session.look(draw.uniform(*LOOK_S))
        await session.close()
    except Exception as error:
        session.errors.append(f"{type(error).__name__}: {error}")


async def walk_class(session: Session, link: Mapping[str, str], seed: int) -> list[tuple[str, float]]:
    """Open the page Class by a link and walk its path as a pupil does; return each wait: after what, and seconds."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    waits = list[tuple[str, float]]()

    async def wait(name: str, shown: str, **value: Any) -> None:
        await session.look(draw.uniform(*LOOK_S))  # to think
        waits.append((name.partition("-")[0], await session.answer(name, shown, **value)))

    async def go(step: str) -> None:
        session.query["step"] = step
        await wait(f"Next: {step}", STEPS[step], trigger_value=True)

    try:
        await session.open()
        session.query = dict(link)
        start = time.perf_counter()
        await session.visit("class")
        waits.append(("open", await session.until_shown(STEPS["Judge"], start)))
        for key in [key for key in session.elements if key.startswith("judge-")]:
            await wait(key, "Of the same intent", string_value=draw.choice(session.elements[key].options))
        await go("Train")
        await wait(
            "lesson-german",
            "You expected",
            string_value=draw.choice(["More often", "As often", "Less often"]),
        )
        await go("Explain")
        await wait("explained", "cosine", string_value=draw.choice(session.elements["explained"].options))
        await go("Break")
        await wait("guess", STEPS["Break"], double_array_value={"data": [draw.randrange(100)]})
        spoilt = "Right intents of sentences that were held out"
        await wait("shown", spoilt, bool_value=True)
        await wait("wrong", spoilt, string_array_value={"data": [draw.choice(["A quarter", "Half", "All"])]})
        await wait("each", spoilt, string_array_value={"data": [draw.choice(["4 an intent", "1 an intent"])]})
        await go("Sum up")
        await session.close()
    except Exception as error:
        session.errors.append(f"{type(error).__name__}: {error}")
    return waits


async def measure_class(host: str, pupils: int) -> dict[str, Any]:
    """Return the figures of pupils who walk the path of the page Class at once."""
    teacher = Session(host, "mark998x")
    await teacher.open()
    teacher.query["step"] = "Sum up"
    start = time.perf_counter()
    await teacher.visit("class")
    await teacher.until_shown(STEPS["Sum up"], start)
    link = dict(parse_qsl(teacher.elements["code"].code_text.partition("?")[2]))
    await teacher.close()
    class_ = [Session(host, f"mark{2000 + number}x") for number in range(pupils)]
    found = await asyncio.gather(*(walk_class(session, link, seed) for seed, session in enumerate(class_)))
    waits = sorted((wait for of in found for wait in of), key=lambda wait: wait[1])
    seconds = [second for _, second in waits]
    return {
        "pupils": pupils,
        "class_waits": len(waits),
        "class_p50_s": round(seconds[len(seconds) // 2], 2),
        "class_p95_s": round(seconds[int(len(seconds) * 0.95)], 2),
        "class_max_s": round(seconds[-1], 2),
        "class_worst_after": {after: round(second, 2) for after, second in waits},  # the last of each is kept
        "class_errors": [error for session in [teacher, *class_] for error in session.errors][:20],
    }


def memory_mb(process: psutil.Process) -> float:
    """Return the resident memory of the server, without its children's, in MB."""
    return process.memory_info().rss / 2**20


async def measure_pages(host: str, process: psutil.Process, sessions: int, pages: int) -> dict[str, Any]:
    """Return the figures of pages of many sessions, and of the server's memory."""
    first = Session(host, "mark999x")
    await first.open()
    for name in list(first.pages):  # encodes the demo set, draws its maps
        await first.visit(name)
        await first.look(20.0)
    alone = [await first.visit(name) for name in first.pages]
    print(f"one session: {max(alone):.2f} s for the slowest page", file=sys.stderr)
    crowd = [Session(host, f"mark{number}x") for number in range(sessions)]
    await asyncio.gather(*(walk(session, pages, seed) for seed, session in enumerate(crowd)))
    times = sorted(second for session in crowd for all_ in session.seconds.values() for second in all_)
    slowest = {
        page or "workbench": round(found[int(len(found) * 0.9)], 2)
        for page in first.pages
        if (found := sorted(second for session in crowd for second in session.seconds.get(page, [])))
    }
    before = memory_mb(process)
    print(f"{len(times)} pages of {sessions} sessions done", file=sys.stderr)
    last: list[Session] = []
    for number in range(50):
        visitor = Session(host, f"mark{1000 + number}x")
        await walk(visitor, 0, number)
        last.append(visitor)
    for number in range(200):
        await first.visit(list(first.pages)[number % len(first.pages)])
    await first.close()
    after = memory_mb(process)
    return {
        "sessions": sessions,
        "page_alone_s": round(max(alone), 2),
        "pages": len(times),
        "page_p50_s": round(times[len(times) // 2], 2),
        "page_p95_s": round(times[int(len(times) * 0.95)], 2),
        "page_max_s": round(times[-1], 2),
        "slowest_tenth_by_page": slowest,
        "server_mb_before": round(before),
        "server_mb_after_200_pages_and_50_uploads": round(after),
        "errors": [error for session in [first, *crowd, *last] for error in session.errors][:20],
    }


def free_host() -> str:
    """Return host and port of an address at which nothing listens."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return f"localhost:{free.getsockname()[1]}"


def until_it_listens(server: subprocess.Popen[bytes], host: str) -> None:
    """Wait until a server of Streamlit answers, or has ended."""
    while server.poll() is None:
        with suppress(httpx2.HTTPError):
            httpx2.get(f"http://{host}/_stcore/health")
            return
        time.sleep(0.2)


@contextmanager
def served(runs: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Serve the app within the block; yield host and port, and the server's process."""
    host = free_host()
    command = [sys.executable, "-m", "emu_core", "app", "--runs", str(runs), "--port", host.partition(":")[2]]
    app = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        until_it_listens(app, host)
        server = psutil.Process(app.pid).children()[0]
        try:
            yield host, server
        finally:
            server.terminate()
    finally:
        app.terminate()
        app.wait()


def main() -> None:
    """Serve the app, train, and measure."""
    parser = argparse.ArgumentParser(
        description="Many sessions walk the app's pages while a run trains, and pupils the page Class."
    )
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--pages", type=int, default=10, help="pages that each session visits")
    parser.add_argument("--only", choices=["pages", "class"], help="one of the two measurements")
    asked = parser.parse_args()
    figures: dict[str, Any] = {"cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (host, server):
        if asked.only != "class":
            out = str(Path(folder) / "busy")
            training = [
                sys.executable,
                *f"-m emu_core train demo --method emu --epochs 500 --out {out}".split(),
            ]
            trainer = subprocess.Popen(training, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                figures |= asyncio.run(measure_pages(host, server, asked.sessions, asked.pages))
                figures["training_still_ran"] = trainer.poll() is None
            finally:
                trainer.kill()
                trainer.wait()
        if asked.only != "pages":
            figures |= asyncio.run(measure_class(host, asked.sessions))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
