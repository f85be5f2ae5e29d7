"""How much memory is asked for, and how much is taken, as Python's allocator tells it."""

import tracemalloc
from contextlib import contextmanager


def asked_and_taken(monkeypatch, module, function):
    """The most bytes that `held_memory` of a module was asked for, and the most that there were."""
    asked = []

    @contextmanager
    def recorded(needed, what, expected):
        asked.append(needed)
        yield

    monkeypatch.setattr(module, "held_memory", recorded)
    function()  # kernels are compiled, and tables of constants made
    return max(asked), peak_of(function)


def peak_of(function):
    """The most bytes that there were at a time."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
