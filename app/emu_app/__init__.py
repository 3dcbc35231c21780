"""The Streamlit app: it draws what emu_core computes."""
