"""A stand-in of the Hugging Face hub: the parts of its API that an upload takes."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "hf_sesame"
USER = "ann"


@dataclass
class Hub:
    """What the stand-in was asked for.

    Attributes:
        address: for HF_ENDPOINT.
        repositories: what each was made with, by name.
        files: the contents of what was uploaded, by repository and path.
        may_write: whether the token may make repositories.
    """

    address: str = ""
    repositories: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    may_write: bool = True

    def answer(self, path: str, body: bytes, token: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of an answer."""
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if token != f"Bearer {TOKEN}":
            return 401, {"error": "Invalid credentials in Authorization header"}
        if path == "/api/whoami-v2":
            return 200, {"name": USER, "type": "user"}
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        user, repo, *action = path.removeprefix("/api/models/").split("/")
        return self._of_repository(f"{user}/{repo}", "".join(action[:1]), body)

    def _create(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = f"{asked.get('organization') or USER}/{asked['name']}"
        if not self.may_write:
            return 403, {"error": "You don't have the rights"}
        if name in self.repositories:
            return 409, {"error": "You already created this model repo"}
        self.repositories[name], self.files[name] = asked, {}
        return 200, {"url": f"{self.address}/{name}", "name": name}

    def _of_repository(self, name: str, action: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if name not in self.repositories:
            return 404, {"error": "Repository not found"}
        if action == "preupload":
            paths = [file["path"] for file in json.loads(body)["files"]]
            return 200, {
                "files": [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]
            }
        if action == "commit":
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.files[name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            return 200, {"commitUrl": f"{self.address}/{name}/commit/{'a' * 40}", "commitOid": "a" * 40}
        return 200, {"id": name, "siblings": []}


@contextmanager
def hub() -> Iterator[Hub]:
    """Serve a hub without repositories."""
    served = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, values = served.answer(self.path, body, self.headers.get("Authorization", ""))
            self.send_response(status)
            if status == 404:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(values).encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.address = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield served
        finally:
            server.shutdown()
