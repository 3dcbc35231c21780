"""Which scripts each language is written in, and which script each letter of a text belongs to."""

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

# Letters only: digits, punctuation and spaces belong to no script.
_RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "Latin": (
        (0x41, 0x5A),
        (0x61, 0x7A),
        (0xC0, 0xD6),
        (0xD8, 0xF6),
        (0xF8, 0x24F),
        (0x1E00, 0x1EFF),
        (0xFF21, 0xFF3A),
        (0xFF41, 0xFF5A),
    ),
    "Greek": ((0x370, 0x3E1), (0x3F0, 0x3FF), (0x1F00, 0x1FFF)),
    "Cyrillic": ((0x400, 0x52F),),
    "Armenian": ((0x531, 0x587),),
    "Hebrew": ((0x5D0, 0x5F2), (0xFB1D, 0xFB4F)),
    "Arabic": (
        (0x620, 0x64A),
        (0x66E, 0x6D3),
        (0x6FA, 0x6FF),
        (0x750, 0x77F),
        (0x8A0, 0x8C9),
        (0xFB50, 0xFDFF),
    ),
    "Devanagari": ((0x900, 0x963), (0x971, 0x97F)),
    "Bengali": ((0x980, 0x9E3), (0x9F0, 0x9F1)),
    "Gurmukhi": ((0xA01, 0xA5E), (0xA70, 0xA75)),
    "Gujarati": ((0xA81, 0xAE3),),
    "Odia": ((0xB01, 0xB63),),
    "Tamil": ((0xB82, 0xBD7),),
    "Telugu": ((0xC00, 0xC63),),
    "Kannada": ((0xC80, 0xCE3),),
    "Malayalam": ((0xD00, 0xD63), (0xD7A, 0xD7F)),
    "Sinhala": ((0xD81, 0xDDF),),
    "Thai": ((0xE01, 0xE3A), (0xE40, 0xE4E)),
    "Lao": ((0xE81, 0xECD), (0xEDC, 0xEDF)),
    "Tibetan": ((0xF40, 0xFBC),),
    "Burmese": ((0x1000, 0x103F), (0x1050, 0x109D)),
    "Georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF)),
    "Ethiopic": ((0x1200, 0x135F), (0x1380, 0x139F)),
    "Khmer": ((0x1780, 0x17D3),),
    "Mongolian": ((0x1820, 0x18AA),),
    "Kana": ((0x3041, 0x3096), (0x30A1, 0x30FA), (0x30FC, 0x30FE), (0x31F0, 0x31FF), (0xFF66, 0xFF9D)),
    "Hangul": ((0x1100, 0x11FF), (0x3131, 0x318E), (0xAC00, 0xD7A3)),
    "Han": ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),
}
SCRIPTS: tuple[str, ...] = tuple(_RANGES)

_LANGUAGES = {
    ("Latin",): (
        "af bs ca cs cy da de en eo es et eu fi fr ga gl ha hr hu id ig is it jv la lb lt lv mg mi ms mt nb "
        "nl nn no pl pt ro sk sl so sq su sv sw tk tl tr vi xh yo zu"
    ),
    ("Cyrillic",): "be bg ky mk ru tg uk",
    # Two scripts are in daily use.
    ("Cyrillic", "Latin"): "az kk sr tt uz",
    ("Cyrillic", "Mongolian"): "mn",
    ("Latin", "Arabic"): "ku",
    ("Arabic",): "ar fa ps ug ur",
    ("Arabic", "Devanagari"): "sd",
    ("Devanagari",): "hi mr ne",
    ("Bengali",): "as bn",
    ("Gurmukhi", "Arabic"): "pa",
    ("Gujarati",): "gu",
    ("Odia",): "or",
    ("Tamil",): "ta",
    ("Telugu",): "te",
    ("Kannada",): "kn",
    ("Malayalam",): "ml",
    ("Sinhala",): "si",
    ("Thai",): "th",
    ("Lao",): "lo",
    ("Tibetan",): "bo",
    ("Burmese",): "my",
    ("Georgian",): "ka",
    ("Ethiopic",): "am",
    ("Khmer",): "km",
    ("Armenian",): "hy",
    ("Greek",): "el",
    ("Hebrew",): "he yi",
    ("Kana", "Han"): "ja",
    ("Hangul", "Han"): "ko",
    ("Han",): "yue zh zh-tw",
}
SCRIPTS_OF = MappingProxyType(
    {code: scripts for scripts, codes in _LANGUAGES.items() for code in codes.split()}
)
"""Language code -> the scripts it is written in; a language that is not here is not judged."""


@cache
def _script_by_code_point() -> NDArray[np.uint8]:
    """Return for each code point the number of its script: 0 for none, i + 1 for SCRIPTS[i]."""
    table = np.zeros(0x110000, dtype=np.uint8)
    for number, ranges in enumerate(_RANGES.values(), start=1):
        for first, last in ranges:
            table[first : last + 1] = number
    return table


def count_scripts(texts: Sequence[str], chunk: int = 50_000) -> NDArray[np.int64]:
    """Count the letters of each script in each text.

    Args:
        texts: N strings.
        chunk: how many texts are looked at together; it bounds the memory and changes nothing else.

    Returns:
        An (N, len(SCRIPTS)) array, column i counting letters of SCRIPTS[i].
    """
    width = len(SCRIPTS) + 1
    parts = [np.zeros((0, len(SCRIPTS)), dtype=np.int64)]
    for start in range(0, len(texts), chunk):
        part = texts[start : start + chunk]
        lengths = np.fromiter(map(len, part), dtype=np.int64, count=len(part))
        joined = "".join(part).encode("utf-32-le", "surrogatepass")
        scripts = _script_by_code_point()[np.frombuffer(joined, dtype="<u4")]  # (characters,)
        cells = np.repeat(np.arange(len(part)) * width, lengths) + scripts
        parts.append(np.bincount(cells, minlength=len(part) * width).reshape(-1, width)[:, 1:])
    return np.concatenate(parts)
