"""The number of threads for numpy and scipy."""

from contextlib import AbstractContextManager


def one_thread_for_small_products() -> AbstractContextManager[object]:
    """Run matrix products of numpy and scipy on one thread within the block; those of torch run as before.

    A logistic regression over a few hundred sentences takes thousands of small products. Of two threads that share one,
    each spins until the other is done, and on a busy machine the other may not be running: seconds become minutes.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
