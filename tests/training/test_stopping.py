"""Signals are noted and handed back."""

import signal
import threading

import pytest

from vendirl.training.stopping import HANDLED, Asked, Interrupted, Stopping, Terminated, leaving, left


def test_signals_are_noted_and_handlers_handed_back(capsys):
    before = [signal.getsignal(number) for number in HANDLED]
    with Stopping() as stopping:
        stopping.check()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Asked):
            stopping.check()
        signal.raise_signal(signal.SIGINT)  # once more, and nothing is raised
        assert "please wait" in capsys.readouterr().err
        assert stopping.signal == signal.SIGTERM  # the first decides
    assert [signal.getsignal(number) for number in HANDLED] == before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stopping() as stopping:
            signal.raise_signal(signal.SIGHUP)
            stopping.check()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_may_be_left_at_once_is_left():
    with Stopping() as stopping, pytest.raises(Asked), stopping.at_once():
        signal.raise_signal(signal.SIGINT)


def test_other_threads_handle_no_signals():
    found = []

    def work():
        with Stopping():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]


def test_the_code_says_which_signal_it_was(capsys):
    assert isinstance(left("saved", signal.SIGINT), Interrupted)
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        stop = left("saved", number)
        assert isinstance(stop, Terminated)
        assert (stop.code, str(stop)) == (code, "saved")
        assert capsys.readouterr().err == "vendirl: saved\n"


def test_what_is_around_a_run_has_the_last_word(capsys):
    def train():
        with Stopping() as run:
            signal.raise_signal(signal.SIGTERM)
            raise run.left("the run is saved")

    said = "1 of 2; the same command goes on"
    with pytest.raises(Terminated, match=said) as stopped, leaving(lambda: said):
        train()
    assert stopped.value.code == 143
    assert capsys.readouterr().err == "vendirl: 1 of 2; the same command goes on\n"
    with pytest.raises(Interrupted, match="between two runs"), leaving(lambda: "between two runs"):
        signal.raise_signal(signal.SIGINT)
