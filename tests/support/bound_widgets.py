"""Widgets that the address keeps, and the containers around them."""

from collections.abc import Iterator

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Node


def bound(app: AppTest) -> set[str]:
    """Return the parameters of the address that widgets of the page keep."""
    return {name for name, _ in _bound(app.main, keeps_place=True)}


def unkept(app: AppTest) -> set[str]:
    """Return those whose widget is in a container that may change its place.

    The browser knows a container without a key by its place among its siblings. If that changes, its widgets are made
    anew, and Streamlit's client forgets the parameters of those that it removes. A container keeps its place if it is
    in one with a key, after others with keys; columns always do.
    """
    return {name for name, keeps_place in _bound(app.main, keeps_place=True) if not keeps_place}


def _bound(block: Block, *, keeps_place: bool) -> Iterator[tuple[str, bool]]:
    after_keyed = _is_keyed(block)
    for child in block.children.values():
        if isinstance(child, Block):
            kept = keeps_place and (_is_keyed(child) or after_keyed or child.type == "column")
            yield from _bound(child, keeps_place=kept)
        elif name := getattr(child.proto, "query_param_key", ""):
            yield name, keeps_place
        after_keyed &= _is_keyed(child)


def _is_keyed(node: Node) -> bool:
    return isinstance(node, Block) and bool(getattr(node.proto, "id", ""))
