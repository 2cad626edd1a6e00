"""What is logged of a network of the user: that it fails, with the reason, and that it works again.

In: every tick. Out: an event ``scorer`` when that changes. State: the last reason.
"""

import logging
from typing import Any

from beatwire.backends.network import WindowScorer
from beatwire.service.observing.logs import log_event


class ScorerLog:
    """Logs the failures of a scorer."""

    def __init__(self, scorer: WindowScorer) -> None:
        self._scorer, self._said = scorer, scorer.failure

    def note(self, _beats: Any) -> None:
        """Take the end of a tick."""
        failure = self._scorer.failure
        if failure == self._said:
            return
        self._said = failure
        if failure is None:
            log_event("scorer", "--scorer: gives scores again")
        else:
            log_event("scorer", f"--scorer: gives no scores: {failure}", level=logging.WARNING, reason=failure)
