"""A background worker of the app that is never late."""

from collections.abc import Callable
from typing import Any

from emu_app.work.background import Done, Failed, Pending, TaskOutcome
from emu_core.errors import EmuError, Message


class AtOnce:
    """Stands for the background worker: a task is done when it is asked for, or never."""

    def __init__(self) -> None:
        self.never = False
        self.is_started = True
        self.endless = self.also_endless = "none"  # tasks whose key begins so are never done
        self.outcomes: dict[str, TaskOutcome] = {}
        self.asked: list[str] = []
        self.stopped: list[str] = []

    def start(self) -> None:
        """There is no process to start."""

    def run(self, key: str, function: Callable[..., Any], *args: Any, **about: Any) -> TaskOutcome:
        self.asked.append(key)
        if self.never or key.startswith((self.endless, self.also_endless)):
            return Pending(key, 0.25)
        if key not in self.outcomes:
            try:
                self.outcomes[key] = Done(function(*args))
            except EmuError as error:
                self.outcomes[key] = Failed(Message(str(error)))
        return self.outcomes[key]

    def wait(self, key: str, moment_s: float) -> TaskOutcome:
        return self.outcomes.get(key, Pending(key, 0.25))

    def result(self, key: str, asker: str | None = None) -> TaskOutcome:
        if key not in self.asked:
            raise KeyError(key)
        return self.outcomes.get(key, Pending(key, 0.25))

    def stop(self, key: str, asker: str) -> None:
        self.stopped.append(key)

    def forget(self, key: str) -> None:
        self.outcomes.pop(key, None)
