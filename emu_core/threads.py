"""The number of threads of numpy and scipy, and memory that the C library holds back."""

import ctypes
import sys
from contextlib import AbstractContextManager


def one_thread_for_small_products() -> AbstractContextManager[object]:
    """Run matrix products of numpy and scipy on one thread within the block; torch is not affected.

    A logistic regression over a few hundred sentences takes thousands of small products. If two threads share a
    product, each spins until the other is done; on a busy machine that may not even be running, and seconds become
    minutes.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def give_memory_back() -> None:
    """Return free memory to the system, where the C library is glibc.

    Batches of different widths fragment the heap: without this, a million sentences take 3 GB more than ten thousand.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
