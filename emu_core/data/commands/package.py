"""The package with the sentence templates: found, or said clearly that it is missing."""

import importlib.util
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from emu_core.data.languages import language_code
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

WANTED = ("home-assistant-intents==2026.10.27", "hassil==3.12.1")
"""What to install for this generator: another release gives other sentences for the same seed."""
_MODULES = ("home_assistant_intents", "hassil")


def check_installed() -> None:
    """Raise a DataError that says what to install, where a needed package is missing."""
    missing = [
        name for name, module in zip(WANTED, _MODULES, strict=True) if not importlib.util.find_spec(module)
    ]
    if missing:
        raise DataError(
            f"generating commands needs {' and '.join(missing)}; install with: pip install {' '.join(WANTED)}"
        )


@cache
def package_file(language: str) -> Mapping[str, Any]:
    """Return the templates of a language as the package has them: `intents`, `lists`, `expansion_rules`.

    Raises:
        DataError: the package is missing or has no templates in this language.
    """
    check_installed()
    from home_assistant_intents import get_intents

    data = get_intents(language)
    if not data:
        raise DataError(f"there are no sentence templates for language '{shown(language)}'")
    return MappingProxyType(data)


def checked_languages(languages: list[str] | tuple[str, ...], there_are: tuple[str, ...]) -> tuple[str, ...]:
    """Return the languages as codes, each once, in the order asked.

    Raises:
        DataError: there is none, or one that we have no words for.
    """
    codes = tuple(dict.fromkeys(language_code(language) or language for language in languages))
    unknown = [code for code in codes if code not in there_are]
    if unknown or not codes:
        raise DataError(f"no commands in {listed(unknown)}; choose from {listed(there_are, len(there_are))}")
    return codes
