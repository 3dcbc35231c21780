"""Weekdays and months in a few languages: words whose places next to each other everyone can judge."""

from collections.abc import Mapping
from types import MappingProxyType

WEEKDAYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "en": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        "de": ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
        "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
        "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
        "it": ("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"),
        "nl": ("maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"),
    }
)
"""Monday first, in lower case."""
MONTHS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "en": (
            "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december",
        ),
        "de": (
            "januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober",
            "november", "dezember",
        ),
        "es": (
            "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
            "noviembre", "diciembre",
        ),
        "fr": (
            "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
            "novembre", "décembre",
        ),
        "it": (
            "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre",
            "novembre", "dicembre",
        ),
        "nl": (
            "januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober",
            "november", "december",
        ),
    }
)  # fmt: skip
"""January first, in lower case."""
