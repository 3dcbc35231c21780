"""The script that each letter of a text belongs to."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

# Hexadecimal ranges of code points. Letters only: digits, punctuation and spaces belong to no script.
_RANGES = {
    "Latin": "41-5A 61-7A C0-D6 D8-F6 F8-24F 1E00-1EFF FF21-FF3A FF41-FF5A",
    "Greek": "370-3E1 3F0-3FF 1F00-1FFF",
    "Cyrillic": "400-52F",
    "Armenian": "531-587",
    "Hebrew": "5D0-5F2 FB1D-FB4F",
    "Arabic": "620-64A 66E-6D3 6FA-6FF 750-77F 8A0-8C9 FB50-FDFF",
    "Devanagari": "900-963 971-97F",
    "Bengali": "980-9E3 9F0-9F1",
    "Gurmukhi": "A01-A5E A70-A75",
    "Gujarati": "A81-AE3",
    "Odia": "B01-B63",
    "Tamil": "B82-BD7",
    "Telugu": "C00-C63",
    "Kannada": "C80-CE3",
    "Malayalam": "D00-D63 D7A-D7F",
    "Sinhala": "D81-DDF",
    "Thai": "E01-E3A E40-E4E",
    "Lao": "E81-ECD EDC-EDF",
    "Tibetan": "F40-FBC",
    "Burmese": "1000-103F 1050-109D",
    "Georgian": "10A0-10FF 1C90-1CBF",
    "Ethiopic": "1200-135F 1380-139F",
    "Khmer": "1780-17D3",
    "Mongolian": "1820-18AA",
    "Kana": "3041-3096 30A1-30FA 30FC-30FE 31F0-31FF FF66-FF9D",
    "Hangul": "1100-11FF 3131-318E AC00-D7A3",
    "Han": "3005-3007 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF",
}
SCRIPTS: tuple[str, ...] = tuple(_RANGES)
_TEXTS_AT_ONCE = 50_000  # which limits the memory


@cache
def _script_by_code_point() -> NDArray[np.uint8]:
    """Return the number of each code point's script: 0 for none, i + 1 for SCRIPTS[i]."""
    table = np.zeros(0x110000, dtype=np.uint8)
    for number, ranges in enumerate(_RANGES.values(), start=1):
        for part in ranges.split():
            first, last = (int(code, 16) for code in part.split("-"))
            table[first : last + 1] = number
    return table


def count_scripts(texts: Sequence[str]) -> NDArray[np.int64]:
    """Count the letters of each of SCRIPTS in each of N texts: (N, scripts)."""
    width = len(SCRIPTS) + 1
    parts = [np.zeros((0, len(SCRIPTS)), dtype=np.int64)]
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE]
        lengths = np.fromiter(map(len, part), dtype=np.int64, count=len(part))
        joined = "".join(part).encode("utf-32-le", "surrogatepass")
        scripts = _script_by_code_point()[np.frombuffer(joined, dtype="<u4")]  # (characters,)
        cells = np.repeat(np.arange(len(part)) * width, lengths) + scripts
        parts.append(np.bincount(cells, minlength=len(part) * width).reshape(-1, width)[:, 1:])
    return np.concatenate(parts)
