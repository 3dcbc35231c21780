"""The number of threads of numpy and scipy, and memory that the C library holds back."""

import ctypes
import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def one_thread_for_small_products() -> AbstractContextManager[object]:
    """Run matrix products of numpy and scipy on one thread within the block; torch is not affected.

    A logistic regression over a few hundred sentences takes thousands of small products. If two threads share a
    product, each spins until the other is done; on a busy machine that may not even be running, and seconds become
    minutes.
    """
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache  # looking through all libraries of the process takes longer than many a product
def _libraries() -> "ThreadpoolController":
    import scipy.linalg  # noqa: F401  # with a library of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def give_memory_back() -> None:
    """Return free memory to the system, where the C library is glibc.

    Batches of different widths fragment the heap: without this, a million sentences take 3 GB more than ten thousand.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
