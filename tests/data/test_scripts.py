import unicodedata

import numpy as np
import pytest

from emu_core.data import scripts
from emu_core.data.languages import SCRIPTS_OF, is_known
from emu_core.data.scripts import SCRIPTS, count_scripts

SENTENCES = {
    "en": "Where is the pool?", "vi": "Hồ bơi ở đâu?", "ru": "Где бассейн?", "el": "Πού είναι η πισίνα;",
    "he": "איפה הבריכה?", "ar": "أين المسبح؟", "fa": "استخر کجاست؟", "hi": "पूल कहाँ है?", "bn": "পুল কোথায়?",
    "pa": "ਪੂਲ ਕਿੱਥੇ ਹੈ?", "gu": "પૂલ ક્યાં છે?", "or": "ପୁଲ କେଉଁଠି?", "ta": "குளம் எங்கே?", "te": "పూల్ ఎక్కడ?",
    "kn": "ಪೂಲ್ ಎಲ್ಲಿದೆ?", "ml": "പൂൾ എവിടെ?", "si": "තටාකය කොහෙද?", "th": "สระว่ายน้ำอยู่ที่ไหน",
    "lo": "ສະລອຍນ້ຳຢູ່ໃສ", "my": "ရေကူးကန်ဘယ်မှာလဲ",
    "ka": "სად არის აუზი?", "am": "መዋኛው የት ነው?", "km": "អាងហែលទឹកនៅឯណា?",
    "hy": "Որտե՞ղ է լողավազանը",
    "ja": "プールはどこですか", "ko": "수영장이 어디예요?", "zh": "游泳池在哪里？",
}  # fmt: skip


def test_each_language_is_written_in_its_scripts() -> None:
    counts = count_scripts(list(SENTENCES.values()))
    for row, language in zip(counts, SENTENCES, strict=True):
        own = sum(row[SCRIPTS.index(script)] for script in SCRIPTS_OF[language])
        assert own == row.sum() > 4, language


def test_counts_equal_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["aé Ж1?", "", "日本カナ 😀", "x" * 70, "ﬀ ＡＢ", "𠀀"]
    prefixes = {"Latin": "LATIN", "Cyrillic": "CYRILLIC", "Han": "CJK UNIFIED", "Kana": "KATAKANA"}
    whole = count_scripts(texts)
    monkeypatch.setattr(scripts, "_TEXTS_AT_ONCE", 2)
    counts = count_scripts(texts)
    assert np.array_equal(counts, whole)
    for text, row in zip(texts, counts, strict=True):
        for script, prefix in prefixes.items():
            names = [unicodedata.name(char).removeprefix("FULLWIDTH ") for char in text if char != "ﬀ"]
            assert row[SCRIPTS.index(script)] == sum(name.startswith(prefix) for name in names)


def test_letters_have_the_script_their_unicode_name_says() -> None:
    prefixes = {
        "Kana": ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA"),
        "Han": ("CJK", "IDEOGRAPHIC", "HANGZHOU"),
        "Odia": ("ORIYA",),
        "Burmese": ("MYANMAR",),
        "Latin": ("LATIN", "FULLWIDTH LATIN"),
    }
    chars = [chr(code) for code in range(0x3134F) if not 0xD800 <= code < 0xE000]
    chars = [char for char in chars if unicodedata.category(char) in ("Lu", "Ll", "Lo", "Mn", "Mc")]
    counts = count_scripts(chars)
    for char, row in zip(chars, counts, strict=True):
        if row.any():
            script = SCRIPTS[int(row.argmax())]
            name = unicodedata.name(char)
            assert name.startswith(prefixes.get(script, (script.upper(),))) or "COMBINING" in name, (
                char,
                name,
            )


def test_about_sixty_languages_all_of_them_known() -> None:
    assert len(SCRIPTS_OF) >= 60 and {script for own in SCRIPTS_OF.values() for script in own} == set(SCRIPTS)
    assert all(is_known(code) for code in SCRIPTS_OF)
    assert count_scripts([]).shape == (0, len(SCRIPTS))
