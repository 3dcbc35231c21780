"""nginx in front of an app, with the lines of docs/how-to/server.md."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_connection

import pytest

from tests.support.browser import PATIENCE_MS
from tests.support.docs_pages import DOCS, blocks

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")


@contextmanager
def nginx(app: str, port: int, folder: Path) -> Iterator[None]:
    """Serve the app at an address on 127.0.0.1 and this port; what nginx writes goes into the folder."""
    if NGINX is None:
        pytest.skip("no nginx on the PATH: apt-get install nginx-light")
    (block,) = [block for block in blocks(DOCS / "how-to/server.md") if block.language == "nginx"]
    folders = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    location = block.text.replace("http://127.0.0.1:8501", app)
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\n{folders}server {{ listen 127.0.0.1:{port}; {location} }} }}"
    )
    with subprocess.Popen([NGINX, "-p", folder, "-c", file]) as server:
        try:
            until = time.monotonic() + PATIENCE_MS / 1000
            while time.monotonic() < until and server.poll() is None:
                with suppress(OSError), create_connection(("127.0.0.1", port)):
                    break  # the app may be started after it
            else:
                pytest.fail(f"nginx does not listen: {(folder / 'error.log').read_text()}")
            yield
        finally:
            server.terminate()
