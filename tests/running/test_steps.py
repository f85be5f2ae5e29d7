"""How far the steps of long work are."""

import threading
from contextlib import suppress

from structune.running.steps import longest_step, step


def test_the_longest_of_all_threads_is_told():
    begun, go_on = threading.Event(), threading.Event()

    def work():
        with step("later", lambda: 0.0):
            begun.set()
            go_on.wait(30)

    with step("whole", lambda: 0.25):
        thread = threading.Thread(target=work)
        thread.start()
        assert begun.wait(30)
        assert (longest_step().name, longest_step().done()) == ("whole", 0.25)
    assert longest_step().name == "later"
    go_on.set()
    thread.join(30)
    assert longest_step() is None


def test_steps_of_generators_end_in_any_order():
    def parts():
        with step("parts", lambda: 0.0):
            yield

    generator = parts()
    next(generator)
    with step("other", lambda: 0.0):
        generator.close()
        assert longest_step().name == "other"
    assert longest_step() is None


def test_a_step_within_another_is_told_until_it_ends():
    with step("outer", lambda: 0.0):
        with suppress(KeyboardInterrupt), step("inner", lambda: 0.0):
            assert longest_step().name == "inner"
            raise KeyboardInterrupt
        assert longest_step().name == "outer"
