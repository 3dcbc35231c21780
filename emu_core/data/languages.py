"""Language codes: every usual way to write a language brought to one short code, and codes to names."""

import re
from collections.abc import Iterable
from types import MappingProxyType

import pandas as pd

from emu_core.data.wording import shown
from emu_core.errors import DataError

# code | other codes for the same language | English name | the language's own name
_TABLE = """
af|afr|Afrikaans|Afrikaans
am|amh|Amharic|አማርኛ
ar|ara arb|Arabic|العربية
as|asm|Assamese|অসমীয়া
ay|aym|Aymara|Aymar aru
az|aze azj|Azerbaijani|Azərbaycanca
be|bel|Belarusian|Беларуская
ber||Berber|Tamaziɣt
bg|bul|Bulgarian|Български
bn|ben|Bengali|বাংলা
bo|bod tib|Tibetan|བོད་སྐད་
br|bre|Breton|Brezhoneg
bs|bos|Bosnian|Bosanski
ca|cat|Catalan|Català
cbk||Chavacano|Chavacano
cs|ces cze|Czech|Čeština
cy|cym wel|Welsh|Cymraeg
da|dan|Danish|Dansk
de|deu ger|German|Deutsch
dtp||Central Dusun|Boros Dusun
dv|div|Dhivehi|ދިވެހި
el|ell gre|Greek|Ελληνικά
en|eng|English|English
eo|epo|Esperanto|Esperanto
es|spa|Spanish|Español
et|est ekk|Estonian|Eesti
eu|eus baq|Basque|Euskara
fa|fas per pes|Persian|فارسی
fi|fin|Finnish|Suomi
tl|fil tgl|Filipino|Filipino
fr|fra fre|French|Français
fy|fry|Western Frisian|Frysk
ga|gle|Irish|Gaeilge
gd|gla|Scottish Gaelic|Gàidhlig
gl|glg|Galician|Galego
gu|guj|Gujarati|ગુજરાતી
ha|hau|Hausa|Hausa
he|iw heb|Hebrew|עברית
hi|hin|Hindi|हिन्दी
hr|hrv|Croatian|Hrvatski
hu|hun|Hungarian|Magyar
hy|hye arm|Armenian|Հայերեն
ia|ina|Interlingua|Interlingua
id|in ind|Indonesian|Bahasa Indonesia
ie|ile|Interlingue|Interlingue
ig|ibo|Igbo|Igbo
io|ido|Ido|Ido
is|isl ice|Icelandic|Íslenska
it|ita|Italian|Italiano
ja|jp jpn|Japanese|日本語
jv|jav|Javanese|Basa Jawa
ka|kat geo|Georgian|ქართული
kab||Kabyle|Taqbaylit
kk|kaz|Kazakh|Қазақша
km|khm|Khmer|ខ្មែរ
kn|kan|Kannada|ಕನ್ನಡ
ko|kor|Korean|한국어
ku|kur kmr|Kurdish|Kurdî
kw|cor|Cornish|Kernewek
ky|kir|Kyrgyz|Кыргызча
kzj||Coastal Kadazan|Kadazan
la|lat|Latin|Latina
lb|ltz|Luxembourgish|Lëtzebuergesch
lfn||Lingua Franca Nova|Lingua Franca Nova
lo|lao|Lao|ລາວ
lt|lit|Lithuanian|Lietuvių
lv|lav lvs|Latvian|Latviešu
mg|mlg plt|Malagasy|Malagasy
mhr||Meadow Mari|Олык марий
mi|mri mao|Maori|Māori
mk|mkd mac|Macedonian|Македонски
ml|mal|Malayalam|മലയാളം
mn|mon khk|Mongolian|Монгол
mr|mar|Marathi|मराठी
ms|msa may zsm|Malay|Bahasa Melayu
mt|mlt|Maltese|Malti
my|mya bur|Burmese|မြန်မာ
nb|nob|Norwegian Bokmål|Norsk bokmål
nds||Low German|Plattdüütsch
ne|nep npi|Nepali|नेपाली
nl|nld dut|Dutch|Nederlands
nn|nno|Norwegian Nynorsk|Nynorsk
no|nor|Norwegian|Norsk
oc|oci|Occitan|Occitan
om|orm gaz|Oromo|Afaan Oromoo
or|ori ory|Odia|ଓଡ଼ିଆ
pa|pan|Punjabi|ਪੰਜਾਬੀ
pl|pol|Polish|Polski
ps|pus pbt|Pashto|پښتو
pt|por|Portuguese|Português
ro|ron rum mo|Romanian|Română
ru|rus|Russian|Русский
sa|san|Sanskrit|संस्कृतम्
sd|snd|Sindhi|سنڌي
si|sin|Sinhala|සිංහල
sk|slk slo|Slovak|Slovenčina
sl|slv|Slovenian|Slovenščina
so|som|Somali|Soomaali
sq|sqi alb als|Albanian|Shqip
sr|srp|Serbian|Српски
su|sun|Sundanese|Basa Sunda
sv|swe|Swedish|Svenska
sw|swa swh|Swahili|Kiswahili
ta|tam|Tamil|தமிழ்
te|tel|Telugu|తెలుగు
tg|tgk|Tajik|Тоҷикӣ
th|tha|Thai|ไทย
tk|tuk|Turkmen|Türkmen
tr|tur|Turkish|Türkçe
tt|tat|Tatar|Татарча
ug|uig|Uyghur|ئۇيغۇرچە
uk|ukr|Ukrainian|Українська
ur|urd|Urdu|اردو
uz|uzb uzn|Uzbek|Oʻzbekcha
vi|vie|Vietnamese|Tiếng Việt
wuu||Wu Chinese|吴语
xh|xho|Xhosa|isiXhosa
yi|ji yid ydd|Yiddish|ייִדיש
yo|yor|Yoruba|Yorùbá
yue||Cantonese|粵語
zh|cn zho chi cmn|Chinese|中文
zh-tw||Chinese (traditional)|繁體中文
zu|zul|Zulu|isiZulu
"""
_ROWS = tuple(tuple(line.split("|")) for line in _TABLE.strip().splitlines())
_NAMES = MappingProxyType({code: english for code, _, english, _ in _ROWS})
_ALIASES = MappingProxyType(
    {alias: code for code, others, _, _ in _ROWS for alias in (code, *others.split())}
    | {name.casefold(): code for code, _, *names in _ROWS for name in names}
    | {
        "mandarin": "zh",
        "farsi": "fa",
        "simplified chinese": "zh",
        "traditional chinese": "zh-tw",
        "简体中文": "zh",
    }
)
_TRADITIONAL = frozenset({"tw", "hk", "mo", "hant"})
# A primary subtag, then scripts (Latn), regions (DE, 419) and variants, as in BCP 47.
_TAG = re.compile(r"[a-z]{2,3}(-([a-z]{2}|[a-z]{4}|[0-9]{3}|[a-z0-9]{5,8}))*")

_EXTENSIONS = re.compile(r"(\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet|pq|xlsx|gz))+$", re.IGNORECASE)
_LOCALE = re.compile(r"[a-z]{2,3}[-_][A-Z]{2}")


def language_code(value: str) -> str | None:
    """Return the short code of a language written as a code, a locale or a name; None if it is none of them.

    `de-DE`, `de_DE`, `deu`, `deu_Latn`, `German` and `Deutsch` give `de`. Chinese is `zh`, or `zh-tw` where
    the region or script is traditional. A two- or three-letter code we have no name for is taken as it is.
    """
    tag = value.strip().casefold().replace("_", "-")
    if tag in _ALIASES:
        return _ALIASES[tag]
    if not _TAG.fullmatch(tag):
        return None
    base, *rest = tag.split("-")
    code = _ALIASES.get(base, base)
    return "zh-tw" if code == "zh" and not _TRADITIONAL.isdisjoint(rest) else code


def checked_language(value: str) -> str:
    """Return the short code of a language. Raises a DataError where `value` is none."""
    code = language_code(value)
    if code is None:
        raise DataError(f"'{shown(value)}' is not a language; give a code such as en, or an English name")
    return code


def language_codes(values: pd.Series) -> pd.Series:
    """Return the series with each language as its code; what is not a language stays as it was written."""
    codes = {value: language_code(value) or value for value in values.unique()}
    return values.map(codes).astype("str")


def is_known(code: str) -> bool:
    """Return whether a code is one that we have a name for (a guard where any three letters would pass)."""
    return code in _NAMES


def language_name(code: str) -> str:
    """Return the English name of a language code, or the code itself when we have none."""
    return _NAMES.get(code, code)


def ordered(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct codes sorted, English first: the order of every table and picture."""
    return tuple(sorted(set(codes), key=lambda code: (code != "en", code)))


def language_of_file(name: str) -> str | None:
    """Return the language a file's name states (`de.csv`, `sib.de.csv`, `massive de-DE.jsonl`), else None.

    Only the last dotted part counts, or a last word that is a whole locale, and only languages we have a name
    for: `my data.csv` is not Burmese.
    """
    part = _EXTENSIONS.sub("", name).rsplit(".", 1)[-1]
    word = part.rsplit(maxsplit=1)[-1] if part.strip() else ""
    for candidate in (part, word if _LOCALE.fullmatch(word) else ""):
        code = language_code(candidate)
        if code and is_known(code):
            return code
    return None


def stated_language(language: str | None, name: str) -> str:
    """Return the code of the language that is given, or else of the one that a file's name states.

    Raises:
        DataError: what is given is no language, or the name states none.
    """
    if language is not None:
        return checked_language(language)
    code = language_of_file(name)
    if code is None:
        stem, dot, ending = name.partition(".")
        raise DataError(
            f"{shown(name)} does not say its language; name it (in the command: --language en), or put it into the "
            f"file's name, as in {shown(stem, 30)}.en{dot}{ending}"
        )
    return code
