"""Language pairs as users name them, among the languages of a set."""

from collections.abc import Sequence

from emu_core.data.languages import language_code
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

LanguagePair = tuple[str, str]


def read_pairs(
    pairs: Sequence[LanguagePair | str] | None, languages: Sequence[str], pivot: str | None = None
) -> tuple[LanguagePair, ...]:
    """Return the distinct pairs of language codes.

    Args:
        pairs: each as two languages, or as one word such as "en-de"; by code or by name. None pairs `pivot` with every
            other language.
        languages: the codes of the set's languages.
        pivot: a code; None takes the first.

    Raises:
        DataError: a pair does not name two languages of the set, or there is none.
    """
    pivot = pivot or languages[0]
    language_pairs = [] if pairs is not None else [(pivot, other) for other in languages if other != pivot]
    for pair in pairs or ():
        words = pair.split("-") if isinstance(pair, str) else pair
        read = [("-".join(words[:at]), "-".join(words[at:])) for at in range(1, len(words))]
        if len(read) == 1:  # otherwise a code has a hyphen itself
            read = [(language_code(a) or a, language_code(b) or b) for a, b in read]
        fits = [(a, b) for a, b in read if a in languages and b in languages and a != b]
        if not fits:
            raise DataError(
                f"'{shown('-'.join(words))}' is no pair of the languages {listed(languages)}; write one as en-de"
            )
        language_pairs.append(fits[0])
    if not language_pairs:
        raise DataError(
            f"a language pair takes two languages, and there is: {listed(languages)}; add translations in another, "
            "with the same ids"
        )
    return tuple(dict.fromkeys(language_pairs))
