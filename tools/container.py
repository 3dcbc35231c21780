"""Build the image of the Dockerfile without a daemon, start it and use it: `make container-check`, as root.

The image is buildah's. It is started in namespaces of its own, from a root file system that is mounted read-only, as
user 1000 without capabilities and without a network, with /tmp in memory and folders for /runs and /data: as
`docker run --read-only --tmpfs /tmp --cap-drop ALL --network none` would. Needs nothing but Python's own library.

Where the base image cannot be had, Debian's packages of the same Python stand in for it (mmdebstrap), and that is said.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools import ROOT

BASE = "docker.io/library/python:3.11-slim"
STAND_IN = ["python3", "python3-venv", "ca-certificates"]  # Python 3.11 in Debian 12
START_SECONDS = 180
# Opens the page's WebSocket as a browser does, runs the app's script once and reads what it draws.
VISIT = """
import asyncio, websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

async def visit():
    drawn = 0
    address = "ws://localhost:8501/_stcore/stream"
    options = {"subprotocols": ["streamlit"], "origin": "http://localhost:8501", "max_size": None}
    options |= {"open_timeout": 120, "ping_interval": None}  # a server that starts answers nothing for seconds
    async with websockets.connect(address, **options) as page:
        await page.send(BackMsg(rerun_script={}).SerializeToString())
        while True:
            message = ForwardMsg.FromString(await asyncio.wait_for(page.recv(), 120))
            drawn += message.HasField("delta")
            if message.HasField("delta") and message.delta.new_element.HasField("exception"):
                raise SystemExit(message.delta.new_element.exception.message)
            if message.HasField("script_finished"):
                return drawn

print(asyncio.run(visit()))
"""


def run(*command: str | Path) -> str:
    """Run a command, whose errors are seen, and return what it prints."""
    print("+", *command, file=sys.stderr, flush=True)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def have_base() -> str:
    """Fetch the base image, or make what stands in for it; return which."""
    known = subprocess.run(["buildah", "inspect", "--type", "image", BASE], capture_output=True, check=False)
    if known.returncode == 0:
        return "was here"
    if subprocess.run(["buildah", "pull", "-q", BASE], check=False).returncode == 0:
        return "pulled"
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "base.tar"
        link = 'ln -s python3 "$1/usr/bin/python"'
        included = f"--include={','.join(STAND_IN)}"
        run("mmdebstrap", "--variant=minbase", included, f"--customize-hook={link}", "bookworm", packed)
        container = run("buildah", "from", "scratch")
        run("buildah", "add", "-q", container, packed, "/")
        run("buildah", "commit", "-q", "--rm", "--format", "docker", container, BASE)
    return "Debian's packages stand in for it"


def build(device: str, image: str, more: Sequence[str]) -> dict[str, Any]:
    """Build the image and return its configuration."""
    options = [
        "--isolation",
        "chroot",
        "--pull-never",
        "--format",
        "docker",
        "--build-arg",
        f"DEVICE={device}",
    ]
    command = ["buildah", "build", "--layers", *options, *more, "-t", image, ROOT]
    subprocess.run(command, check=True, stdout=sys.stderr)
    facts = json.loads(run("buildah", "inspect", "--type", "image", image))
    config: dict[str, Any] = facts["Docker"]["config"]
    return config


class Container:
    """The started image.

    Attributes:
        config: the image's configuration.
        server: the process that holds the namespaces; its child is the app.
    """

    def __init__(self, config: dict[str, Any], root: Path, folders: Path) -> None:
        """Start what CMD says, with `folders` holding /runs and /data."""
        self.config, self._root = config, root
        for name in ("runs", "data"):
            (folders / name).mkdir()
            os.chown(folders / name, 1000, 1000)
        (folders / "hosts").write_text("127.0.0.1 localhost\n")  # which every container's runtime gives
        script = f"""
            set -e
            ip link set lo up
            mount --bind {root} {root}
            mount -t proc proc {root}/proc
            mount --rbind /dev {root}/dev
            mount -t tmpfs -o mode=1777 tmpfs {root}/tmp
            mount --bind {folders}/runs {root}/runs
            mount --bind {folders}/data {root}/data
            touch {root}/etc/hosts
            mount --bind {folders}/hosts {root}/etc/hosts
            mount -o remount,bind,ro {root}
            exec "$@"
        """
        spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        command = [*spaces, "sh", "-c", script, "sh", *self._as_user(config["Cmd"])]
        self.log = folders / "log"
        with self.log.open("wb") as log:
            self.server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def _as_user(self, command: Sequence[str]) -> list[str]:
        user = self.config["User"]
        drop = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs"]
        rights = [*drop, "--bounding-set=-all", "--inh-caps=-all"]
        place = f'cd {self.config["WorkingDir"]} && exec "$@"'
        settings = ["env", "-i", "HOME=/home/emu", *self.config["Env"]]
        return ["chroot", str(self._root), *settings, *rights, "sh", "-c", place, "sh", *command]

    def inside(self, *command: str, as_root: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command beside the app, as its user, or as root."""
        child = Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split()[0]
        spaces = ["nsenter", "--target", child, "--mount", "--net", "--pid"]
        whole = ["chroot", str(self._root), *command] if as_root else self._as_user(command)
        return subprocess.run([*spaces, *whole], capture_output=True, text=True, check=False)

    def wait(self) -> float:
        """Wait until the image's own health check passes; return the seconds since the start."""
        began = time.monotonic()
        check = self.config["Healthcheck"]["Test"]
        while time.monotonic() - began < START_SECONDS and self.server.poll() is None:
            time.sleep(1)
            with contextlib.suppress(IndexError):  # not forked yet
                if self.inside(*check[1:]).returncode == 0:
                    return time.monotonic() - began
        raise SystemExit(f"the app did not become healthy:\n{self.log.read_text()}")


@contextlib.contextmanager
def started(config: dict[str, Any], image: str) -> Iterator[Container]:
    """The image's files, mounted, with its CMD running."""
    name = run("buildah", "from", "--pull-never", image)
    folders = Path(tempfile.mkdtemp())
    folders.chmod(0o755)
    try:
        container = Container(config, Path(run("buildah", "mount", name)), folders)
        try:
            yield container
        finally:
            container.server.kill()
            container.server.wait()
    finally:
        run("buildah", "rm", name)
        shutil.rmtree(folders)


def use(container: Container) -> dict[str, Any]:
    """Return what the running image answered; each value that is not as it must be ends the program."""
    facts: dict[str, Any] = {"healthy_after_s": round(container.wait())}

    def answer(*command: str) -> str:
        done = container.inside(*command)
        if done.returncode:
            raise SystemExit(f"{command[:4]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    facts["user"] = answer("id", "-u")
    facts["capabilities"] = answer("grep", "^CapEff", "/proc/self/status").split()[-1].strip("0")
    written = container.inside("touch", "/srv/emu/app/emu_app/new.py", as_root=True)
    facts["root_file_system"] = "read-only" if "Read-only file system" in written.stderr else "WRITABLE"
    facts["elements_drawn"] = int(answer("python", "-c", VISIT))
    facts["doctor"] = {
        check["name"]: check["state"] for check in json.loads(answer("emu", "doctor", "--json"))["checks"]
    }
    trained = json.loads(answer("emu", "train", "demo", "--out", "/runs/trained", "--json"))
    facts["trained"] = bool(trained)
    measured = json.loads(
        answer("emu", "evaluate", "demo", "--run", "/runs/trained", "--split", "test", "--json")
    )
    facts["mean_accuracy"] = measured["mean"]
    facts["healthy_at_the_end"] = (
        container.inside(*container.config["Healthcheck"]["Test"][1:]).returncode == 0
    )
    wanted = {"user": "1000", "capabilities": "", "root_file_system": "read-only", "healthy_at_the_end": True}
    wrong = {name: facts[name] for name, value in wanted.items() if facts[name] != value}
    if wrong or not facts["elements_drawn"]:
        raise SystemExit(f"not as it must be: {wrong or facts}")
    return facts


def main() -> None:
    """Build, start, use; print one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--image", default="localhost/emu", help="its name (default localhost/emu)")
    parser.add_argument("--use", action="store_true", help="an image that was built before")
    parser.add_argument("more", nargs="*", help="after --: options of buildah build, such as --volume")
    options = parser.parse_args()
    missing = [tool for tool in ("buildah", "unshare", "nsenter", "ip") if not shutil.which(tool)]
    if os.geteuid() or missing:
        parser.error(
            f"needs root and {', '.join(missing) or 'nothing else'}: sudo apt-get install buildah mmdebstrap iproute2"
        )
    base = have_base()
    if options.use:
        facts = json.loads(run("buildah", "inspect", "--type", "image", options.image))
        config = facts["Docker"]["config"]
    else:
        config = build(options.device, options.image, options.more)
    with started(config, options.image) as container:
        print(
            json.dumps(
                {"image": options.image, "device": options.device, "base": base} | use(container), indent=1
            )
        )


if __name__ == "__main__":
    main()
