"""The Explore page's parts."""
