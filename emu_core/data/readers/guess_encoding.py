"""Which old encoding some lines are in: alphabets tell for Latin letters, charset-normalizer for others."""

from collections.abc import Sequence
from types import MappingProxyType

from charset_normalizer import from_bytes

_WESTERN = (
    "äöüß",  # German, Swedish and Finnish in part
    "àâæçéèêëîïôœùûüÿñ",  # French
    "áéíñóúü¿¡ªº",  # Spanish
    "áâãàçéêíóôõúüªº",  # Portuguese
    "àèéìíòóùúïüç·",  # Italian, Catalan
    "åäöæøéü",  # the Nordic languages
    "áðéíóúýþæö",  # Icelandic
    "éèëïóöüá",  # Dutch
)
_CENTRAL = (
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýž",  # Czech
    "áäčďéíĺľňóôŕšťúýž",  # Slovak
    "áéíóöőúüű",  # Hungarian
    "čćđšž",  # Croatian, Slovenian
    "ăâîşţșț",  # Romanian
    "äöüß",
)
_BALTIC = ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")
_TURKISH = ("çğıöşüâîûi\u0307",)
# In order of preference: where two encodings give equally good letters, the first is the commoner.
_LATIN = MappingProxyType(
    {
        "cp1252": _WESTERN,
        "cp1250": _CENTRAL,
        "cp1254": _TURKISH,
        "cp1257": _BALTIC,
        "iso8859_2": _CENTRAL,
        "iso8859_15": _WESTERN,
        "mac_roman": _WESTERN,
    }
)
_MARKS = frozenset("«»„“”‚‘’‹›–—…°€£§©®™´·•\u00a0")
# The commonest letters of what each one-byte encoding is used for, about 60% of the letters of a running
# text.
_COMMON = MappingProxyType(
    {
        "cp1251": "оеаинтсрвлкм",
        "koi8_r": "оеаинтсрвлкм",
        "cp1253": "αοιετσνηυρπκ",
        "cp1255": "יוהלאתרמבשנד",
        "cp1256": "اليمنوةرتبهع",
        "cp874": "านรอกเง่มยลวด",
    }
)
_MULTI_BYTE = ("cp932", "euc_jp", "gb18030", "cp949", "big5")
_SAMPLE_BYTES = 100_000
_LONG_LINE = 20_000


def is_latin(encoding: str | None) -> bool:
    """Tell whether an encoding is one of those for Latin letters."""
    return encoding in _LATIN


def guess_encoding(lines: Sequence[bytes]) -> str | None:
    """Return the encoding that lines with non-ASCII bytes are most likely in; None if there is no telling."""
    sample = _sample([line for line in lines if len(line) <= _LONG_LINE])
    if not sample:
        return None
    scores = {encoding: _latin_share(sample, encoding) for encoding in _LATIN}
    best = max(scores, key=lambda encoding: scores[encoding])
    if scores[best] >= 0.9:
        return best
    joined = b"\n".join(sample)
    found = from_bytes(joined, cp_isolation=[*_MULTI_BYTE, *_COMMON, *_LATIN], threshold=0.4).best()
    if found is None or found.encoding not in _COMMON:
        return found.encoding if found else None
    # On short texts charset-normalizer takes Hebrew, or KOI8, for Windows Cyrillic: frequencies tell them
    # apart.
    return max(_COMMON, key=lambda encoding: _common_share(joined, encoding))


def _sample(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines spread evenly over the file, about _SAMPLE_BYTES in all."""
    total = sum(map(len, lines))
    return list(lines[:: max(1, total // _SAMPLE_BYTES)])


def _latin_share(lines: Sequence[bytes], encoding: str) -> float:
    """Return the share of the non-ASCII characters that one language's alphabet explains, line by line."""
    explained = total = 0
    for line in lines:
        try:
            chars = [char for char in line.decode(encoding).lower() if char > "\x7f"]
        except UnicodeDecodeError:
            return 0.0
        rest = [char for char in chars if char not in _MARKS]
        total += len(chars)
        most = max(sum(char in alphabet for char in rest) for alphabet in _LATIN[encoding])
        explained += len(chars) - len(rest) + most
    return explained / max(total, 1)


def _common_share(text: bytes, encoding: str) -> float:
    try:
        chars = [char for char in text.decode(encoding) if char > "\x7f"]
    except UnicodeDecodeError:
        return 0.0
    return sum(char in _COMMON[encoding] for char in chars) / max(len(chars), 1)
