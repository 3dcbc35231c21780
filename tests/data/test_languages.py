import pandas as pd
import pytest

from emu_core.data.languages import (
    checked_language,
    is_known,
    language_code,
    language_codes,
    language_name,
    ordered,
    unknown_languages,
)
from emu_core.encoders.registry import available_encoders
from emu_core.errors import DataError


@pytest.mark.parametrize(
    ("written", "code"),
    [
        *[(value, "de") for value in ("de", "DE", " de-DE ", "de_AT", "deu", "ger", "deu_Latn", "German")],
        ("Deutsch", "de"),
        *[("Englisch", "en"), ("Französisch", "fr"), ("inglés", "en"), ("немецкий", "de"), ("ドイツ語", "de")],
        ("Breatnais", None),  # Breton in Irish, Welsh in Scottish Gaelic
        *[(value, "en") for value in ("en-US", "en_GB", "eng", "ENGLISH")],
        *[(value, "zh") for value in ("zh", "zh-cn", "zh_CN", "zh-Hans", "zho_Hans", "zh-SG")],
        *[(value, "zh") for value in ("cmn", "中文", "Mandarin")],
        *[(value, "zh-tw") for value in ("zh-tw", "zh_TW", "zh-Hant-HK", "zho_Hant", "zh-HK")],
        ("Traditional Chinese", "zh-tw"),
        *[("iw", "he"), ("jpn", "ja"), ("日本語", "ja"), ("pt-BR", "pt"), ("es-419", "es")],
        ("sr-Latn-RS", "sr"),
        *[("ast", "ast"), ("xx", "xx"), ("uk", "uk"), ("jp", "ja"), ("cn", "zh"), ("no", "no")],
        *[(value, None) for value in ("kr", "dk", "ua", "gr", "CZ", "kr_KR", "und", "UNK", "mul", "zxx")],
        *[(value, None) for value in ("", "  ", "Klingonese", "d", "12")],
        *[(value, None) for value in ("de/at", "en us", "de--at", "x" * 500)],
    ],
)  # fmt: skip
def test_language_code(written: str, code: str | None) -> None:
    assert language_code(written) == code


@pytest.mark.parametrize(
    ("written", "meant"), [("kr", "Korean is ko"), ("DK", "Danish is da"), ("ua-UA", "Ukrainian is uk")]
)
def test_a_country_is_told_from_its_language(written: str, meant: str) -> None:
    with pytest.raises(DataError, match=f"'{written}' is not a language; {meant}"):
        checked_language(written)


def test_varieties_of_a_language_are_known_with_it() -> None:
    known = ("en", "no", "zh", "he", "id", "tl", "sr")
    assert unknown_languages(known, ["nb", "nn", "zh-tw", "iw", "in", "fil", "sr-Latn", "en-GB"]) == ()
    assert unknown_languages(("nb", "zh-tw"), ["no", "nn", "zh", "da", "yue", "da"]) == ("da", "yue")
    assert unknown_languages((), ["da"]) == ()


def test_codes_are_their_own_codes() -> None:
    for code in ("de", "zh", "zh-tw", "yue", "nb", "tl"):
        assert language_code(code) == code
        assert language_code(language_name(code)) == code


def test_series_keeps_what_is_no_language() -> None:
    assert language_codes(pd.Series(["de-DE", "", "???", "German"])).tolist() == ["de", "", "???", "de"]


def test_names_and_order() -> None:
    assert language_name("zh-tw") == "Chinese (traditional)"
    assert language_name("qq") == "qq"
    assert ordered(["fr", "de", "en", "de"]) == ("en", "de", "fr")


def test_every_language_of_an_encoder_has_a_name() -> None:
    for info in available_encoders():
        assert [code for code in info.languages if not is_known(code)] == [], info.spec
