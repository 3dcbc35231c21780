"""Names of intents that stand for "none of these": the label that other tools give to what a bot can't answer.

Sentences with such a label have no intent to learn or to retrieve, but show where the known intents end.
"""

import re
from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from emu_core.data.cleaning import normal_form
from emu_core.data.intent_names import without_language

FALLBACK = "fallback"
"""The first part of the name of an intent that a tool marks as its fallback, whatever the intent is called."""

# Without case and separators, as in CLINC150, LUIS and CLU, Rasa, Dialogflow, Lex and Alexa, Watson, Snips, TOP.
_USUAL = (
    "oos ood outofscope outofdomain outofdistribution notinscope offtopic irrelevant irrelevance",
    "none noneintent noneofthese noneoftheabove nointent noknownintent nomatch nomatchdefault",
    "unknown unknownintent unhandled unhandledintent unsupported unrecognized unrecognised",
    "fallback fallbackintent defaultfallback defaultfallbackintent nlufallback defaultnegativeintent",
)
_NAMES = frozenset(" ".join(_USUAL).split())
# Names that begin like this are parts of it: out_of_scope_non_english.
_BEGINNINGS = ("outofscope", "outofdomain")
_FIRST_WORDS = frozenset(("oos", "ood"))
_LEVELS = re.compile(
    r"[/.:$#|]+"
)  # out_of_scope/other, AMAZON.FallbackIntent, IN:UNSUPPORTED, wit$out_of_scope
_SEPARATORS = re.compile(r"[\W_]+")
# In voice assistants, the answer "no", as their intents for the answer "yes" show; Alexa's is the answer everywhere.
_ANSWER_NO, _ANSWER_YES = "nointent", "yesintent"
_NO_OF_ALEXA = "amazon.nointent"


def is_usual_name(intent: str) -> bool:
    """Return whether an intent has a usual name for "none of these", in any case and with any separators."""
    name = normal_form(intent)
    levels = _levels(intent)
    words = [word for word in _SEPARATORS.split(name) if word]
    if not levels or name == _NO_OF_ALEXA:
        return False
    return (
        bool(_NAMES.intersection(("".join(levels), levels[0], levels[-1])))
        or "".join(words).startswith(_BEGINNINGS)
        or words[0] in _FIRST_WORDS
    )


def _levels(intent: str) -> list[str]:
    levels = (_SEPARATORS.sub("", level) for level in _LEVELS.split(normal_form(intent)))
    return [level for level in levels if level]


def usual_names(intents: Iterable[str]) -> frozenset[str]:
    """Return those of all intents of a set that have a usual name, but for the answer "no" beside one for "yes"."""
    ends = {intent: _levels(intent)[-1:] for intent in intents}
    has_yes = [_ANSWER_YES] in ends.values()
    return frozenset(
        intent
        for intent, end in ends.items()
        if is_usual_name(intent) and not (has_yes and end == [_ANSWER_NO])
    )


def as_fallback(intent: str) -> str:
    """Return the name of an intent that a tool marks as its fallback, so that it is recognised by the name alone."""
    return intent if is_usual_name(intent) else f"{FALLBACK}/{intent}"


def names_of_none(
    rows: pd.DataFrame, named: Sequence[str] = (), real: Sequence[str] = (), doubtful: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the intents that stand for "none of these", sorted.

    These are the `named` ones, and those with a usual name that are not `real`; case, width and blanks do not matter.
    Nothing is guessed where fewer than two intents would be left: then "none" is one of the two that are told apart.

    Args:
        rows: the columns intent and language (codes).
        named: intents that stand for "none of these".
        real: intents that don't, though their names are usual for it.
        doubtful: intents that may be missing values, and are not counted among those that would be left.
    """
    bare = rows.assign(bare=without_language(rows))
    pairs = bare[["intent", "bare"]].drop_duplicates()
    pairs = pairs[pairs["intent"] != ""]
    wanted, unwanted = (set(map(normal_form, names)) for names in (named, real))
    taken: set[str] = set()
    guessed: set[str] = set()
    usual = usual_names([*pairs["intent"], *pairs["bare"]])
    for intent, stem in pairs.itertuples(index=False, name=None):
        spellings = {normal_form(intent), normal_form(stem)}
        if spellings & wanted:
            taken.add(intent)
        elif not spellings & unwanted and usual & {intent, stem}:
            guessed.add(intent)
    rest = set(pairs["intent"]) - taken - guessed - set(doubtful)
    return tuple(sorted(taken | guessed if len(rest) > 1 else taken))


def absent_names(intents: Iterable[str], named: Sequence[str]) -> list[str]:
    """Return the given names that no intent has; case, width and blanks do not matter."""
    known = set(map(normal_form, intents))
    return [name for name in named if normal_form(name) not in known]
