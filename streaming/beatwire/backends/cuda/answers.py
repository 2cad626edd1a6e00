"""How long a card is waited for: one that does not answer is lost, and not waited for without a word.

In:    the status of an event of a card
Out:   nothing, or an error
State: none
"""

import time
from collections.abc import Callable

from beatwire.errors import LostCardError

ANSWERS_WITHIN_S = 60.0  # all that is launched at a time takes a few seconds at most
LOOKS_EACH_S = 2e-5
NOT_READY = 600  # cudaErrorNotReady


def wait_for(status: Callable[[], int], within_s: float = ANSWERS_WITHIN_S) -> None:
    """Wait until the status of an event is another one than ``NOT_READY``.

    Raises
    ------
    LostCardError
        It is not within ``within_s``: a kernel does not end, or the card does nothing.
    """
    until_s = time.monotonic() + within_s
    while status() == NOT_READY:
        if time.monotonic() > until_s:
            raise LostCardError(f"gpu: expected the card to be done within {within_s:g} s; got no answer")
        time.sleep(LOOKS_EACH_S)
