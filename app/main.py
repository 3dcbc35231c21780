"""The app's pages."""

from pathlib import Path

import streamlit as st

from app.users import draw_sign_in

ICON = Path(__file__).parent / "icon.svg"  # a file: icons by name are fetched from elsewhere


def main() -> None:
    """Show the page that the address names."""
    st.set_page_config(page_title="Emu", page_icon=ICON, layout="wide", initial_sidebar_state="collapsed")
    if not draw_sign_in():
        return
    pages = [
        st.Page("views/data.py", title="Data", icon=":material/table:", default=True),
        st.Page("views/train.py", title="Train", icon=":material/model_training:"),
        st.Page("views/pretrain.py", title="Pretrain", icon=":material/foundation:"),
        st.Page("views/compare.py", title="Compare", icon=":material/compare_arrows:"),
        st.Page("views/explore.py", title="Explore", icon=":material/scatter_plot:"),
        st.Page("views/predict.py", title="Predict", icon=":material/label:"),
        st.Page("views/split.py", title="Split", icon=":material/call_split:"),
        st.Page("views/translations.py", title="Translations", icon=":material/g_translate:"),
        st.Page("views/bench.py", title="Evidence", icon=":material/query_stats:"),
        st.Page("views/encoders.py", title="Encoders", icon=":material/translate:"),
    ]
    st.navigation(pages, position="top").run()


if __name__ == "__main__":  # not in the background worker, which imports this file as well
    main()
