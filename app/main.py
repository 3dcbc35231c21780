"""What `streamlit run app/main.py` takes; the app is the package beside this file."""

from emu_app.main import main

if __name__ == "__main__":  # not in a helper process that is started while a page is drawn
    main()
