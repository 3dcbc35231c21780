"""Languages: their short codes, read from every usual way of writing them, and their names."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import pandas as pd

from emu_core.data.wording import kind_of, shown
from emu_core.errors import DataError, InputError

UNDETERMINED = "und"
"""ISO 639-2's code for an unknown language."""
_TABLE = files("emu_core.data").joinpath("languages.csv").read_text(encoding="utf-8")
# code, other codes for the same language, English name, the language's own name, scripts in use
_ROWS = tuple(tuple(line.split(",")) for line in _TABLE.splitlines()[1:])
_NAMES: Mapping[str, str] = {code: english for code, _, english, *_ in _ROWS}
SCRIPTS_OF: Mapping[str, tuple[str, ...]] = {
    code: tuple(scripts.split()) for code, *_, scripts in _ROWS if scripts
}
"""Language code -> the scripts it is written in, if they are known."""
_ALIASES: Mapping[str, str] = {
    **{alias: code for code, aliases, *_ in _ROWS for alias in (code, *aliases.split())},
    **{name.casefold(): code for code, _, *names, _ in _ROWS for name in names},
    **dict.fromkeys(("mandarin", "simplified chinese", "简体中文"), "zh"),
    "traditional chinese": "zh-tw",
    "farsi": "fa",
}
# Codes of countries that are taken for those of their languages, and are no other language's that anyone would mean.
_LANGUAGE_OF_COUNTRY: Mapping[str, str] = {
    **dict.fromkeys(("au", "gb", "nz", "us"), "en"),
    **dict.fromkeys(("eg", "iq", "sy"), "ar"),
    **dict.fromkeys(("kp", "kr"), "ko"),
    **{
        "at": "de",
        "bd": "bn",
        "by": "be",
        "cz": "cs",
        "dk": "da",
        "ge": "ka",
        "gr": "el",
        "hk": "zh-tw",
        "il": "he",
    },
    **{
        "ir": "fa",
        "kz": "kk",
        "lk": "si",
        "md": "ro",
        "mm": "my",
        "mx": "es",
        "np": "ne",
        "ph": "tl",
        "pk": "ur",
    },
    **{"rs": "sr", "ua": "uk", "vn": "vi"},
}
# ISO 639's for what is undetermined, uncoded, in several languages, or in none; and "unknown".
_NO_LANGUAGE = frozenset({"und", "mis", "mul", "zxx", "unk"})
_SAME_LANGUAGE = {"nb": "no", "nn": "no"}  # two ways of writing one
_TRADITIONAL = frozenset({"tw", "hk", "mo", "hant"})
# A primary subtag, then scripts (Latn), regions (DE, 419) and variants, as in BCP 47.
_TAG = re.compile(r"[a-z]{2,3}(-([a-z]{2}|[a-z]{4}|[0-9]{3}|[a-z0-9]{5,8}))*")


def language_code(value: str) -> str | None:
    """Return the short code of a language written as a code, a locale or a name; None for anything else.

    `de-DE`, `de_DE`, `deu`, `deu_Latn`, `German`, `Deutsch` and `allemand` give `de`. Chinese is `zh`, or `zh-tw` for
    a traditional region or script. Unknown codes of two or three letters are returned unchanged, except those that
    only countries have (`kr`) or that stand for no language (`und`).
    """
    return stated_code(value) or _names_anywhere().get(value.strip().casefold())


def stated_code(value: str) -> str | None:
    """Return the code of a language written as a code, a locale, or its name in English or the language itself."""
    tag = value.strip().casefold().replace("_", "-")
    if tag in _ALIASES:
        return _ALIASES[tag]
    if not _TAG.fullmatch(tag):
        return None
    base, *subtags = tag.split("-")
    if base in _LANGUAGE_OF_COUNTRY or base in _NO_LANGUAGE:
        return None
    code = _ALIASES.get(base, base)
    return "zh-tw" if code == "zh" and not _TRADITIONAL.isdisjoint(subtags) else code


@cache
def _names_anywhere() -> Mapping[str, str]:
    """Return the codes of our languages by their names in all of them, without ambiguous names."""
    from babel import Locale, localedata

    codes_by_name: dict[str, set[str]] = {}
    for locale in filter(localedata.exists, _NAMES):
        for code, name in Locale(locale).languages.items():
            if code in _NAMES:
                codes_by_name.setdefault(name.casefold(), set()).add(code)
    return {name: codes.pop() for name, codes in codes_by_name.items() if len(codes) == 1}


def checked_language(value: str) -> str:
    """Return the short code of a language. Raises a DataError if `value` is not a language."""
    if not isinstance(value, str):  # Python passed a column, where all sentences have one language
        raise InputError(f"{kind_of(value)} is no language; give one, such as 'en', or a column of languages")
    code = language_code(value)
    if code is None:
        meant = language_meant(value) or "give a code such as en, or the language's name"
        raise DataError(f"'{shown(value)}' is not a language; {meant}")
    return code


def language_meant(value: str) -> str:
    """Return what was meant with a country's code, as "Korean is ko"; "" for anything else."""
    code = _LANGUAGE_OF_COUNTRY.get(re.split("[-_]", value.strip().casefold())[0], "")
    return f"{language_name(code)} is {code}" if code else ""


def unknown_languages(known: Iterable[str], languages: Iterable[str]) -> tuple[str, ...]:
    """Return the codes among `languages`, in their order, of which no variety is among the `known` ones.

    Varieties are scripts and regions of a language (`zh-tw`), and Bokmål and Nynorsk of Norwegian. If `known` is empty,
    nothing is known of them, and no language is returned.
    """
    covered = set(map(_main_code, known))
    return tuple(code for code in dict.fromkeys(languages) if covered and _main_code(code) not in covered)


def _main_code(language: str) -> str:
    base = (language_code(language) or language).partition("-")[0]
    return _SAME_LANGUAGE.get(base, base)


def language_codes(values: pd.Series) -> pd.Series:
    """Return the series with each language as its code; other values are unchanged."""
    codes = {value: language_code(value) or value for value in values.unique()}
    return values.map(codes).astype("str")


def is_known(code: str) -> bool:
    """Return whether we have a name for a code; `language_code` accepts any two or three letters."""
    return code in _NAMES


def known_languages() -> tuple[str, ...]:
    """Return the known codes, sorted."""
    return tuple(sorted(_NAMES))


def language_name(code: str) -> str:
    """Return the English name of a language, or its code if it is unknown."""
    return _NAMES.get(code, code)


def split_pair(name: str) -> tuple[str, str] | None:
    """Return the two codes of a name such as "en-de" or "en-zh-tw"; None if it is ambiguous."""
    words = name.split("-")
    ways = [("-".join(words[:at]), "-".join(words[at:])) for at in range(1, len(words))]
    if len(ways) > 1:  # a code may have a hyphen itself
        ways = [(a, b) for a, b in ways if is_known(a.casefold()) and is_known(b.casefold())]
    return ways[0] if len(ways) == 1 else None


def tag_of(code: str) -> str:
    """Return the three-letter code of a language and, if it is known, its usual script: "deu-Latn" for "de"."""
    from babel.core import get_global

    base = code.partition("-")[0]
    codes = [base, *next((others.split() for known, others, *_ in _ROWS if known == base), [])]
    three_letters = next((other for other in codes if len(other) == 3), base)
    place = code.partition("-")[2].upper()
    likely = get_global("likely_subtags").get(f"{base}_{place}" if place else base, "").split("_")
    return "-".join([three_letters, *(part for part in likely if len(part) == 4)])


def ordered(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct codes sorted, English first: the order of all tables and figures."""
    return tuple(sorted(set(codes), key=lambda code: (code != "en", code)))
