"""The clock of transactions."""

import pytest
from beatwire.kafka.publishing import patience, transactions
from moments import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Each look at the clock takes 50 ms."""
    one = Clock(tick_s=0.05)
    monkeypatch.setattr(transactions, "time", one)
    monkeypatch.setattr(patience, "time", one)
    monkeypatch.setattr(transactions, "SLICE_S", 0.02)
    return one
