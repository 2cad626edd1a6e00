"""Bodies of the alert of leads that are off: an electrode that loses contact again and again is one alert.

In:    changes of the lead-off mask, in order of samples
Out:   transitions of ``lead off``: it begins at once, and ends after 5 s in which no lead was off
State: ``CONTACT_UNTIL`` of ``kernels.alerts.alert_state``
"""

from beatwire.kernels.alerts.alert_state import CONTACT_UNTIL, FIRST_ONSET, LEADS_OFF, set_alert
from beatwire.records import I64
from beatwire.records.alerting import Transitions
from beatwire.records.columns import BLOCK_SAMPLES

CONTACT_BLOCKS = 2.5  # 5 s


def apply_contact(row: I64, slot: int, sample: int, mask: int, lengths: I64, transitions: Transitions, n: int) -> int:
    """Apply that other leads are off from ``sample`` on; ``mask`` is 0 if none is."""
    n = end_contact(row, slot, sample, transitions, n)
    if mask != 0:
        row[CONTACT_UNTIL] = 0
        return set_alert(row, slot, LEADS_OFF, True, sample, float(mask), transitions, n)
    if row[FIRST_ONSET + LEADS_OFF] >= 0 and row[CONTACT_UNTIL] == 0:
        row[CONTACT_UNTIL] = sample + int(CONTACT_BLOCKS * lengths[BLOCK_SAMPLES])
    return n


def end_contact(row: I64, slot: int, sample: int, transitions: Transitions, n: int) -> int:
    """End the alert of leads that are off if none was for long enough before ``sample``."""
    until = int(row[CONTACT_UNTIL])
    if until == 0 or until > sample:
        return n
    row[CONTACT_UNTIL] = 0
    return set_alert(row, slot, LEADS_OFF, False, until, 0.0, transitions, n)
