from __future__ import annotations

import signal
import threading

import pytest

from layoutrand.platform.interrupts import noted_interrupts, prompt_interrupts


def test_a_signal_that_another_thread_got_is_noticed_while_the_main_thread_waits():
    """Waiting for a thread is waiting for a lock, from which only a signal to the main thread itself wakes."""
    over = threading.Event()

    def other():
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        over.wait(60)

    thread = threading.Thread(target=other)
    with pytest.raises(KeyboardInterrupt), prompt_interrupts():
        thread.start()
        thread.join()
    assert thread.is_alive()
    over.set()
    thread.join()


def test_timer_and_handler_are_as_before():
    before = signal.getsignal(signal.SIGALRM)
    with prompt_interrupts(), prompt_interrupts():
        assert signal.getitimer(signal.ITIMER_REAL)[1] > 0
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_timer_of_somebody_else_is_left_alone():
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with prompt_interrupts():
            assert signal.getitimer(signal.ITIMER_REAL)[1] == 0
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_in_another_thread_it_does_nothing():
    timers = []

    def other():
        with prompt_interrupts():
            timers.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert timers == [(0.0, 0.0)]


def test_a_block_in_a_block_is_a_part_of_it():
    """What was noted before the inner one began is known in it, and has its effect at the end of the outer one."""
    steps = []
    with pytest.raises(KeyboardInterrupt), noted_interrupts() as outer:
        signal.raise_signal(signal.SIGINT)
        with noted_interrupts() as inner:
            assert inner is outer
            assert inner.received == [signal.SIGINT]
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    with noted_interrupts() as fresh:
        assert fresh.received == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
