"""Language pairs as `emu train` takes them."""

from collections.abc import Sequence

from emu_core.data.languages import is_known, language_code
from emu_core.data.wording import shown
from emu_core.errors import TrainingError
from emu_core.methods.method import Needs
from emu_core.methods.registry import method_named, methods_that_need


def pairs_of(named: Sequence[str] | None, method: str) -> list[tuple[str, str]] | None:
    """Return the pairs that --pair names; None where it names none.

    Raises:
        TrainingError: a value is not two languages, or the method learns from no pairs.
    """
    if not named:
        return None
    if method_named(method).needs is not Needs.SLOTS:
        raise TrainingError(
            f"the method {method} learns from no pairs; leave --pair out, or choose --method "
            + " or ".join(methods_that_need(Needs.SLOTS))
        )
    return [language_pair(value) for value in named]


def language_pair(value: str) -> tuple[str, str]:
    """The two codes of en-de.

    Raises:
        TrainingError: it is not two languages.
    """
    words = value.split("-")
    ways = [("-".join(words[:at]), "-".join(words[at:])) for at in range(1, len(words))]
    if len(ways) > 1:  # a code may have a hyphen itself: en-zh-tw
        ways = [(a, b) for a, b in ways if is_known(a.casefold()) and is_known(b.casefold())]
    if len(ways) == 1:
        first, second = (language_code(half) for half in ways[0])
        if first and second and first != second:
            return first, second
    raise TrainingError(
        f"'{shown(value)}' is no pair of languages; write two codes with '-' between them, such as --pair en-de"
    )
