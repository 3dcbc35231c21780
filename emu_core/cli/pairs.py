"""Language pairs as `emu train` takes them."""

from collections.abc import Sequence

from emu_core.data.languages import language_code, split_pair
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
    if halves := split_pair(value):
        first, second = map(language_code, halves)
        if first and second and first != second:
            return first, second
    raise TrainingError(
        f"'{shown(value)}' is no pair of languages; write two codes with '-' between them, such as --pair en-de"
    )
