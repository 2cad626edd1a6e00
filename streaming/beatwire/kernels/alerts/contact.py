"""Bodies of the alert of leads that are off: an electrode that loses contact again and again is one alert.

In:    changes of the lead-off mask, in order of samples
Out:   transitions of ``lead off``: it begins at once, and ends after 5 s in which no lead was off
State: ``CONTACT`` of ``kernels.alerts.alert_state``

Where some leads are off the others are analysed; where all are, nothing is. So that is another alert: it begins where
all come off, also while one about some leads is on, which may be acknowledged. All that were off in the last 5 s and
come off again are the same alert.

``CONTACT`` is 0 if nothing is known. While some leads are off it is minus the sample up to which all count as off,
``NEVER`` if they are. While none is it is twice the sample at which the alert ends, and 1 more if all count as off up
to there.
"""

from beatwire.kernels.alerts.alert_state import CONTACT, FIRST_ONSET, LEADS_OFF, set_alert
from beatwire.kernels.alerts.unjudged import NEVER
from beatwire.records import I64
from beatwire.records.alerting import Transitions
from beatwire.records.columns import BLOCK_SAMPLES
from beatwire.records.events import ALL_OFF

CONTACT_BLOCKS = 2.5  # 5 s


def all_off_until(contact: int) -> int:
    """Return the sample up to which all leads count as off; 0: they do not."""
    return -contact if contact < 0 else (contact >> 1) * (contact & 1)


def apply_contact(row: I64, slot: int, sample: int, value: int, lengths: I64, transitions: Transitions, n: int) -> int:
    """Apply that other leads are off from ``sample`` on; ``value`` is that of the event, 0 if none is."""
    n = end_contact(row, slot, sample, transitions, n)
    later, until = sample + int(CONTACT_BLOCKS * lengths[BLOCK_SAMPLES]), all_off_until(int(row[CONTACT]))
    if value == 0:
        if row[FIRST_ONSET + LEADS_OFF] >= 0 and row[CONTACT] <= 0:
            row[CONTACT] = 2 * later + int(until > sample)
        return n
    if value >= ALL_OFF:
        if until <= sample:
            n = set_alert(row, slot, LEADS_OFF, False, sample, 0.0, transitions, n)
        row[CONTACT] = -NEVER
    else:
        row[CONTACT] = -min(until, later) if until > sample else 0
    return set_alert(row, slot, LEADS_OFF, True, sample, float(value & (ALL_OFF - 1)), transitions, n)


def end_contact(row: I64, slot: int, sample: int, transitions: Transitions, n: int) -> int:
    """End the alert of leads that are off if none was for long enough before ``sample``."""
    until = int(row[CONTACT]) >> 1
    if until <= 0 or until > sample:
        return n
    row[CONTACT] = 0
    return set_alert(row, slot, LEADS_OFF, False, until, 0.0, transitions, n)
