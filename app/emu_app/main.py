"""The app's entry: the bar with the navigation, and below it the page."""

import json
from pathlib import Path
from typing import Literal

import streamlit as st

from emu_app.panels.context import Chooser, draw_bar, draw_problems
from emu_app.shell.address import draw_link, page_file
from emu_app.shell.first_run import until_placed
from emu_app.shell.state import BROWSER, browser
from emu_app.shell.users import draw_account, draw_sign_in, runs_root
from emu_app.shell.widgets import errors_shown
from emu_app.work.cache import start_helpers, wait_anew

_HERE = Path(__file__).parent
_SCRIPTS = tuple(
    _HERE / "shell" / f"{name}.js" for name in ("stopped", "wheel", "steps")
)  # that run once, for all pages
_NONE, _DATA = frozenset[Chooser](), frozenset({Chooser.DATA})
_CHOOSERS = {  # by the title of the page
    "Data": _DATA,
    "Train": _DATA,
    "Compare": frozenset(Chooser),
    "Try": _DATA | {Chooser.ENCODERS},
    "Class": _DATA | {Chooser.ENCODERS},
    "Split": _DATA | {Chooser.ROWS},
    "Translations": _DATA,
    "Evidence": _DATA,
}
ICON = _HERE / "icon.svg"  # a file, since icons by name are fetched from the network
# The bar replaces Streamlit's empty header, whose menu stays at its right end. What is styled is named by its key or
# its part in HTML or ARIA, after `:root` where Streamlit's own style would win. Only columns, which have no keys, are
# named by Streamlit's test ids, here and in shell/widgets.py. (Its theme has no padding beside a page, and that above a
# page comes on top of the header's height.)
_STYLE = """
<style>
:root header { background: transparent; height: 2.75rem; min-height: 0 }
:root header, :root header * { pointer-events: none; }
:root header :is(a, button, button *) { pointer-events: auto; }
:root header button { background: light-dark(#FFFFFF, #0E1117); }  /* on what scrolls below it */
main > :first-child { padding: 0.4rem 1.5rem 2rem; }
/* The first stop of the keyboard on the page: past the bar. */
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 0.25rem; z-index: 1; padding: 0.5rem 1rem; background: Canvas; }
:has(> :is(.st-key-skip, .st-key-start, .st-key-scripts, .st-key-autoplay, .st-key-browser)) {
  position: absolute; width: 0;
}
/* The bar shows which page is open; the heading is for screen readers. */
:has(> .st-key-heading) {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
}
/* The accent is a background for white letters; as a text colour on a dark page it is too faint. */
[aria-checked="true"] p, [role="tab"][aria-selected="true"] p, :has(> [type="range"]) + * p {
  color: light-dark(#31333F, #FAFAFA);
}
/* The popover is outside of the app's root, and has its text's colour, but not its colour scheme. */
:root .st-key-map-more-settings [aria-checked="true"], :root .st-key-map-more-settings [aria-checked="true"] p {
  color: inherit;
}
:root main h2 { font-size: 1.5rem; padding: 0.5rem 0; }
:root main label p { white-space: normal; }
:root .st-key-headline h2 { font-size: 2.25rem; padding: 0.25rem 0; }
[class*="st-key-fields-"] { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
.st-key-examples button { text-align: left; min-height: 1.75rem; }
.st-key-bar { padding-right: 2.5rem; row-gap: 0.25rem; }
@media (min-width: 1100px) {  /* one line, for which the choosers become narrower */
  .st-key-bar { flex-wrap: nowrap; }
  .st-key-bar > * { flex-shrink: 0; }
  .st-key-bar > :is(.st-key-choose-data, .st-key-choose-a, .st-key-choose-b) { flex-shrink: 1; min-width: 6.5rem; }
}
@media (max-width: 640px) {
  main > :first-child { padding: 0.4rem 0.6rem 2rem; }
  :root .st-key-headline h2 { font-size: 1.5rem; }
  .st-key-bar { padding-right: 0; }
  :root :has(> [data-testid="stColumn"]) { row-gap: 1rem; }
  .st-key-ways { padding-right: 2.5rem; column-gap: 0.25rem; }  /* beside the menu */
  /* The icons, with the room that each takes. */
  .st-key-ways :is([aria-hidden="true"], span:has(> [aria-hidden="true"])) { display: none; }
  .st-key-bar [class*="st-key-choose-"] { flex: 0 0 calc(50% - 0.5rem); }
}
</style>
"""


def main() -> None:
    """Draw the bar and the page that the address names."""
    st.set_page_config(page_title="Emu", page_icon=ICON, layout="wide", initial_sidebar_state="collapsed")
    if not draw_sign_in():
        return
    until_placed(runs_root())
    wait_anew()
    try:
        _draw()
    finally:
        start_helpers()  # after the page: their imports would delay it


def _draw() -> None:
    """Draw the bar and the page for somebody who may see it."""
    # The default page is at the address of the app; `shell/served.py` leads others there.
    places = [
        st.Page(page_file("data"), title="Data", icon=":material/table:"),
        st.Page(page_file("train"), title="Train", icon=":material/model_training:"),
        st.Page(page_file("workbench"), title="Compare", icon=":material/scatter_plot:", default=True),
        st.Page(page_file("try"), title="Try", icon=":material/edit_note:"),
    ]
    research = [
        st.Page(page_file("pretrain"), title="Pretrain", icon=":material/foundation:"),
        st.Page(page_file("split"), title="Split", icon=":material/call_split:"),
        st.Page(page_file("translations"), title="Translations", icon=":material/g_translate:"),
        st.Page(page_file("bench"), title="Evidence", icon=":material/query_stats:"),
        st.Page(page_file("encoders"), title="Encoders", icon=":material/translate:"),
    ]
    lesson = st.Page(page_file("lesson"), title="Class", icon=":material/school:", url_path="class")
    glossary = st.Page(page_file("glossary"), title="Glossary", icon=":material/menu_book:")
    page = st.navigation([*places, *research, lesson, glossary], position="hidden")
    choosers = _CHOOSERS.get(page.title, _NONE)
    st.set_page_config(page_title=f"{page.title} - Emu")  # tells tabs and bookmarks of the browser apart
    st.html(_STYLE)
    with st.container(key="scripts"):
        for script in _SCRIPTS:
            st.html(f"<script>{script.read_text('utf-8')}</script>", unsafe_allow_javascript=True)
    with st.container(key="browser"):
        if st.context.cookies.get(BROWSER) != browser():
            cookie = f"{BROWSER}={browser()}; path=/; max-age=31536000; samesite=strict"
            st.html(f"<script>document.cookie = {json.dumps(cookie)}</script>", unsafe_allow_javascript=True)
    with st.container(key="skip"):
        st.html('<a class="skip" href="#page">Skip the bar</a>')
    with st.container(key="bar", horizontal=True, vertical_alignment="bottom"):
        ways = st.container(
            key="ways", horizontal=True, width="content", vertical_alignment="center", gap="small"
        )
        draw_bar(choosers)
    with st.container(key="start"):
        st.html('<div id="page" tabindex="-1"></div>')
    with ways:  # after the bar, since every link carries its choices
        for place in places:
            draw_link(place, place.title, place.icon)
        kind: Literal["primary", "tertiary"] = "primary" if page in research else "tertiary"
        label = f"Research: {page.title}" if page in research else "Research"
        key = f"research-{page.url_path}"  # a new key closes the menu on the next page
        with st.popover(label, icon=":material/science:", type=kind, key=key):
            for part in research:
                draw_link(part, part.title, part.icon)
        draw_account()
    with st.container(key="problems"):
        draw_problems(choosers)
    with st.container(key="heading"):
        st.title(page.title)
    # Containers have keys wherever a widget that the address keeps is in them. Without one, the browser knows a
    # container by its place, and makes its widgets anew when something appears before it: the address then loses them.
    with st.container(key="page"), errors_shown():
        page.run()
    if page not in (glossary, lesson):
        draw_link(lesson, "Class: a path of ten minutes", ":material/school:")
    if page is not glossary:
        draw_link(glossary, "What the words mean", ":material/menu_book:")


if __name__ == "__main__":  # not in a helper process that is started while this page is drawn
    main()
