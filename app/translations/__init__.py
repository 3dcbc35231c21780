"""The Translations page's parts."""
