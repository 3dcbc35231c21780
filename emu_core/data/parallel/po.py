"""Translations of programs in gettext's PO files."""

import io
from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.file_names import language_of_file
from emu_core.data.languages import language_code
from emu_core.data.parallel.text import ParallelRows, check_languages
from emu_core.data.readers.limits import check_lengths, check_rows
from emu_core.data.readers.text import read_text
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError, Fix

_ORIGINAL = "en"  # gettext's convention


def read_po(path: Path, languages: Sequence[str] | None = None) -> ParallelRows:
    """Read originals and translations; of a plural, both first forms.

    Entries without a translation, fuzzy and obsolete ones are left out. Translations are in the language of the header
    or of the file's name, originals in English, unless two languages are given.

    Raises:
        DataError: the file can't be read or is damaged, states no language, or no entry has a translation.
    """
    from babel.messages.pofile import PoFileError
    from babel.messages.pofile import read_po as parse

    text, _ = read_text(path, path.name)
    check_rows(text.count("msgid"), path.name)
    try:
        catalog = parse(io.StringIO(text), abort_invalid=True)
    except (PoFileError, ValueError, AttributeError, IndexError, KeyError, TypeError, SyntaxError) as error:
        raise DataError(f"{shown(path.name)} is a damaged PO file; check it with msgfmt") from error
    entries, left = [], 0
    for message in catalog:
        first = [
            (form if isinstance(form, str) else (form or ("",))[0]) for form in (message.id, message.string)
        ]
        if message.id and all(first) and not message.fuzzy:
            entries.append((*first, message.lineno or 1))
        elif message.id:
            left += 1
    if not entries:
        raise DataError(f"{shown(path.name)} has no translated entry; export it with its translations")
    originals, translations, lines = zip(*entries, strict=True)
    source, target = _languages(path, dict(catalog.mime_headers).get("Language", ""), languages)
    texts = {source: clean([" ".join(text.split()) for text in originals])}
    texts |= {target: clean([" ".join(text.split()) for text in translations])}
    for side in texts.values():
        check_lengths(side, path.name, "entry")
    notes = (
        (f"{shown(path.name)}: {counted(left, 'entry', 'entries')} untranslated or fuzzy, left out.",)
        if left
        else ()
    )
    return ParallelRows(texts, dict.fromkeys(texts, path.name), lines, "line", notes)


def _languages(path: Path, header: str, given: Sequence[str] | None) -> tuple[str, str]:
    if given is not None and len(given) == 2:
        source, target = given
    else:
        stated = (given[0] if given else None) or language_code(header) or language_of_file(path.name)
        if stated is None:
            raise DataError(
                f"{shown(path.name)}: the header states no Language; add it, or name both languages: ",
                Fix("languages", ("en", "de")),
            )
        source, target = _ORIGINAL, stated
    check_languages([source, target], path.name)
    return source, target
