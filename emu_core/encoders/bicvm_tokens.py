"""A text's words as BiCVM takes them: lower-cased, with punctuation as words of its own."""

import re
import unicodedata

# An elided word keeps its apostrophe (d' hommes). Chinese and Japanese have no spaces: each character is a word.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:'(?=\w))?"
    r"|[^\w\s]"
)


def words(text: str) -> list[str]:
    """The words of a text, lower-cased, in their order."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'").lower())
