"""The app's pages."""

from pathlib import Path

import streamlit as st

ICON = Path(__file__).parent / "icon.svg"  # a file: icons by name are fetched from elsewhere


def main() -> None:
    """Show the page that the address names."""
    st.set_page_config(page_title="Emu", page_icon=ICON, layout="wide")
    pages = [
        st.Page("pages/data.py", title="Data", icon=":material/table:", default=True),
        st.Page("pages/train.py", title="Train", icon=":material/model_training:"),
        st.Page("pages/pretrain.py", title="Pretrain", icon=":material/foundation:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
        st.Page("pages/explore.py", title="Explore", icon=":material/scatter_plot:"),
        st.Page("pages/split.py", title="Split", icon=":material/call_split:"),
        st.Page("pages/translations.py", title="Translations", icon=":material/g_translate:"),
        st.Page("pages/bench.py", title="Evidence", icon=":material/query_stats:"),
        st.Page("pages/encoders.py", title="Encoders", icon=":material/translate:"),
    ]
    st.navigation(pages, position="top").run()


if __name__ == "__main__":  # not in the background worker, which imports this file as well
    main()
