"""Alerts that the page has and their topic has lost leave it; those that are written again, or change, stay."""

from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.page import lost_alerts
from beatwire.page.lost_alerts import PATIENCE_S, LostAlerts
from beatwire.page.ward import Ward
from beatwire.wire.names import ALERTS
from hypothesis import given
from hypothesis import strategies as st
from page_ward import alert, names, send

BEDS = [f"bed-{k}" for k in range(5)]
some = st.sets(st.sampled_from(BEDS))


class Watched:
    """A watch over lost alerts whose brokers say what is written here."""

    def __init__(self, patched: pytest.MonkeyPatch, ward: Ward) -> None:
        self.now_s, self.in_log, self.answers = 0.0, set[str](), True
        patched.setattr(lost_alerts, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        patched.setattr(lost_alerts, "read_active_alerts", self.read)
        patched.setattr(lost_alerts, "Removed", lambda *_: self)
        self.removed = False
        self.lost = LostAlerts(Cluster("127.0.0.1:1"), ward)

    def look(self) -> None:
        pass

    def take(self) -> set[str]:
        taken, self.removed = self.removed, False
        return {ALERTS} if taken else set()

    def read(self, _: Cluster, **__: Any) -> list[dict[str, Any]]:
        if not self.answers:
            raise FatalError("no answer")
        return [{"id": (alert(bed).key or b"").decode()} for bed in self.in_log]


@given(had=some, in_log=some, changed=some, sending=some, loses=st.booleans(), fails=st.booleans())
def test_alerts_that_are_nobodys_any_more_leave_the_page(
    had: set[str], in_log: set[str], changed: set[str], sending: set[str], loses: bool, fails: bool
) -> None:
    ward, told = Ward(), set[str]()
    send(ward, *sending)
    ward.add_records([alert(bed) for bed in sorted(had)])
    ward.listeners.append(told.update)
    with pytest.MonkeyPatch.context() as patched:
        watched = Watched(patched, ward)
        watched.in_log, watched.removed = in_log, loses
        watched.lost.look()
        watched.now_s += PATIENCE_S - 0.1
        watched.lost.look()
        assert watched.lost.take() == [], "monitors may not have written yet"
        watched.now_s += 0.2
        watched.answers = not fails
        watched.lost.look()
        watched.answers = True
        watched.lost.look()
        ward.add_records([alert(bed, text="said again") for bed in sorted(changed)])
        told.clear()
        ward.add_records(watched.lost.take())
        assert watched.lost.take() == []
    gone = had - in_log - changed if loses else set()
    assert told == gone
    assert {bed for bed in BEDS if ward.alerts_of(bed)} == (had | changed) - gone
    assert set(names(ward)) == (had | changed | sending) - (gone - sending)
