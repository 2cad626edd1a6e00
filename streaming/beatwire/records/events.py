"""Kinds of events of a stream. At the same sample of a pass they come in the order of these numbers.

RESTART        the lane begins at ``sample``; ``value``: sample up to which the same session was known before, -1: none,
               -2 - n: the stream was silent for long, and its session before the silence was known up to n
GAP            samples from ``sample`` to ``value`` are bridged
LEADS_CHANGED  the lead-off mask is ``value`` from ``sample`` on; all leads of the stream are off: with ``ALL_OFF``
BEAT           R is at ``sample``; ``value``: row of the beat in its tick
BLOCK          a block of the level ends at ``sample``; ``value``: its description or its kinds
               (``kernels.rhythms.flutter``)
WATERMARK      everything before ``sample`` is decided
CLOCK          a device time that left the state of align, see ``kernels.intake.clock``
DRIFTED        the comparison with the reference has crossed its limit, see ``kernels.scores.drift``
LIMITS_CHANGED the limits are row ``value`` of their table from ``sample`` on, see ``stages.support.alerts.limits``
CONFLICT       sessions of the stream take turns (``value`` 1) or do so no longer (0), see ``kernels.intake.senders``
ARRIVED        a chunk came whose samples reach up to ``sample``; ``value``: twice the time in which samples came (us),
               and 1 more while sessions take turns
RATE           the times of the chunks say that the rate is off by ``value`` thousandths of a percent, 0: no longer, see
               ``kernels.intake.stated_rate``
DENIED         the trees call the peak at ``sample`` a beat, the network that judges their doubts does not (``value``
               ``NO_BLOCK``), or it is of another size than the beats but of their shape (``RESIZED``)
"""

(
    RESTART, GAP, LEADS_CHANGED, BEAT, BLOCK, WATERMARK, CLOCK, DRIFTED, LIMITS_CHANGED, CONFLICT, ARRIVED, DENIED,
    RATE,
) = range(13)  # fmt: skip
ALL_OFF = 1 << 12  # above the bits of the leads
