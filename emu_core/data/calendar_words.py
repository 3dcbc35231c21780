"""Weekdays and months in several languages: words whose positions in a map are easy to judge."""

import json
from importlib.resources import files

_WORDS = json.loads(files("emu_core.data").joinpath("calendar_words.json").read_text(encoding="utf-8"))
WEEKDAYS = {code: tuple(words["weekdays"]) for code, words in _WORDS.items()}
"""Monday first, in lower case."""
MONTHS = {code: tuple(words["months"]) for code, words in _WORDS.items()}
"""January first, in lower case."""
