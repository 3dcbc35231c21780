"""The number of threads for numpy and scipy, and the memory that many products leave behind."""

import ctypes
import sys
from contextlib import AbstractContextManager


def one_thread_for_small_products() -> AbstractContextManager[object]:
    """Run matrix products of numpy and scipy on one thread within the block; those of torch run as before.

    A logistic regression over a few hundred sentences takes thousands of small products. Of two threads that share one,
    each spins until the other is done, and on a busy machine the other may not be running: seconds become minutes.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def give_memory_back() -> None:
    """Give the system the memory that is free between blocks in use, where the C library is glibc.

    Batches of many widths leave such gaps: without this, a million sentences take 3 GB more than ten thousand.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
