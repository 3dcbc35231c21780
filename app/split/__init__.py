"""The Split page's parts."""
