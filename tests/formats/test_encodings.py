"""Encodings told by content, and a mix of two refused."""

import pytest

from emu_core.data.demo import load_demo
from emu_core.errors import DataError
from emu_core.formats.encodings import read_text
from emu_core.formats.tables.read import read_table

GERMAN = "Wo ist das Frühstück?,a,de\nDie Tür schließt nicht.,b,de\n"
FRENCH = "Où est la piscine ?,a,fr\nÀ quelle heure ouvre l’hôtel ? Ça coûte 5 €,b,fr\n"
SPANISH = "¿Dónde está la piscina?,a,es\nMañana quiero más café,b,es\n"
JAPANESE = "プールはどこですか,a,ja\n朝食は何時から始まりますか,b,ja\n"
CHINESE = "游泳池在哪里,a,zh\n早餐几点开始,b,zh\n"
RUSSIAN = "Где находится бассейн?,a,ru\nВо сколько начинается завтрак?,b,ru\n"
LEGACY = [
    (GERMAN, "cp1252"),
    (FRENCH, "cp1252"),
    (FRENCH.replace("€", "EUR").replace("’", "'"), "latin-1"),
    (SPANISH, "latin-1"),
    (GERMAN + FRENCH + SPANISH, "cp1252"),
    (GERMAN + FRENCH + SPANISH, "mac_roman"),
    ("Proszę o więcej ręczników. Chciałbym zmienić pokój,a,pl\n", "cp1250"),
    ("Kde je bazén? Můžu zaplatit kartou? Příliš drahé,a,cs\nChtěl bych ještě klíč,b,cs\n", "iso8859_2"),
    ("Kahvaltı saat kaçta başlıyor? Odamı değiştirmek istiyorum,a,tr\n", "cp1254"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (CHINESE, "gb18030"),
    (CHINESE.replace("哪里", "哪裡").replace("几点开始", "幾點開始"), "big5"),
    ("수영장은 어디에 있나요,a,ko\n체크아웃은 몇 시예요,b,ko\n", "euc_kr"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8_r"),
    ("Πού είναι η πισίνα;,a,el\nΤι ώρα έχει πρωινό;,b,el\n", "cp1253"),
    ("איפה הבריכה?,a,he\nמתי ארוחת הבוקר?,b,he\n", "cp1255"),
    ("أين المسبح؟,a,ar\nمتى يبدأ الإفطار؟,b,ar\n", "cp1256"),
    ("สระว่ายน้ำอยู่ที่ไหน,a,th\nอาหารเช้ากี่โมง,b,th\n", "cp874"),
]


@pytest.mark.parametrize(("text", "encoding"), LEGACY, ids=lambda value: value if len(value) < 12 else "")
def test_old_encodings(text: str, encoding: str) -> None:
    text = "text,intent,language\nwhere is it,a,en\n" + text
    found, name = read_text(text.encode(encoding), "x.csv")
    assert found == text
    assert not name.startswith("utf")
    assert read_table(text.encode(encoding), "x.csv").attrs["encoding"] == name


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le"]
)
def test_unicode_with_and_without_mark(encoding: str) -> None:
    text = "text,intent\n" + GERMAN + JAPANESE + "😀,x,en\n"
    mark = "\ufeff" if encoding.endswith(("be", "le")) else ""
    assert read_text((mark + text).encode(encoding), "x.csv")[0] == text


@pytest.mark.parametrize("utf8_first", [True, False])
def test_mixed_encodings_name_the_first_line_that_is_not_utf8(utf8_first: bool) -> None:
    utf8, latin = "Tür,a\n".encode() * 3, "Straße,a\n".encode("latin-1") * 40
    payload = b"text,intent\nplain,a\n" + (utf8 + latin if utf8_first else latin + utf8)
    with pytest.raises(DataError, match=rf"line {6 if utf8_first else 3} is not UTF-8.*save the whole file"):
        read_text(payload, "x.csv")


def test_one_utf8_line_among_many_in_latin_1_is_seen() -> None:
    payload = b"text,intent\n" + "Straße und Tür,a\n".encode("latin-1") * 500 + "Café,b\n".encode()
    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        read_text(payload, "x.csv")


def test_one_bad_line_among_many_in_utf8_is_seen() -> None:
    payload = "Straße,a\n".encode() * 500 + "Café,b\n".encode("latin-1")
    with pytest.raises(DataError, match="line 501 is not UTF-8"):
        read_text(payload, "x.csv")


def test_a_line_of_chinese_that_is_utf8_by_accident_is_no_mix() -> None:
    accident = "停水".encode("gb18030")
    assert accident.decode("utf-8") != "停水"  # another text, but no error
    text = CHINESE * 20 + "停水\n"
    assert read_text(text.encode("gb18030"), "x.csv") == (text, "gb18030")


def test_bytes_in_no_known_encoding_are_refused() -> None:
    with pytest.raises(DataError, match="line 2 is in an unknown encoding"):
        read_text(b"text,intent\n" + b"\x81\x8d\x8f\x90\x9d" * 20, "x.csv")


def test_one_short_line_is_enough_for_western_european_languages() -> None:
    frame = load_demo().frame
    western = frame[frame["language"].isin(["de", "es", "fr"])]["text"]
    lines = [text for text in western[:: len(western) // 300] if not text.isascii()]
    right = [read_text(line.encode("cp1252", "ignore"), "x.csv")[0] for line in lines]
    same = sum(found == line for found, line in zip(right, lines, strict=True))
    assert same >= 0.95 * len(lines) > 90
