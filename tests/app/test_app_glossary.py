"""The glossary, without a browser."""

from emu_app.shell.glossary import Word, help_on, help_on_terms
from tests.support.app_pages import new_session


def test_every_word_is_explained_once_under_an_anchor_of_its_own() -> None:
    app = new_session("glossary").run()
    assert not app.exception
    headings = {heading.anchor: heading.value for heading in app.header}
    assert headings == {word.anchor: word.title for word in Word} and len(headings) == len(Word)
    text = " ".join(paragraph.value for paragraph in app.markdown)
    assert all(word.meaning in text and word.term in text for word in Word)


def test_the_word_that_the_address_names_comes_first() -> None:
    app = new_session("glossary")
    app.query_params["word"] = Word.WHITENING.anchor
    assert app.run().header[0].anchor == Word.WHITENING.anchor


def test_a_page_ends_with_a_link_to_the_glossary() -> None:
    def last(page: str) -> str:
        links = new_session(page).run().get("page_link")
        return str(links[-1].proto.label)

    assert last("encoders") == "What the words mean" != last("glossary")


def test_a_text_of_others_has_a_help_on_the_terms_that_it_names() -> None:
    about = help_on_terms("Acc@1 by direction, P@3")
    assert about == help_on(Word.PAIR, Word.SIMILAR, Word.TRANSLATION_FOUND)
    assert help_on_terms("mean of the directions") == help_on(Word.PAIR)
    assert help_on_terms("redirection, spool") is None and help_on_terms("") is None


def test_a_help_says_the_meaning_and_leads_to_the_glossary() -> None:
    about = help_on(Word.TRUST, Word.EPOCH, text="First this.")
    assert about.startswith("First this.\n\n**Trust in a map** (trustworthiness): Whether")
    assert about.endswith(
        "**Epoch**: One pass of the training through all of its sentences. [Glossary](glossary?word=epoch)"
    )
