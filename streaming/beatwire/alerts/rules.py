"""The table of alert rules: a new one is an entry here, a kernel and a test.

The numbers count up from 0: they are the rows of the kernels' state, and the places of the limits that kernels get. The
configuration, the ranges, the limits that staff can set, the schema of messages, the page and the documents follow.
"""

from __future__ import annotations

from beatwire.alerts.rule import Limit, Rule

RULES = (
    Rule(
        0, "asystole", "high", False, True, "Asystole",
        "no beat for {limit:g} s",
        "No beat for {limit} s while a lead is on; after an uncertain beat the signal is at rest as well, and"
        " for 6 s more if no five beats in a row were certain before. Waves below 15 % of the normal beat, as"
        " P waves without a QRS complex, are no beats for 20 s. Stays until it is acknowledged.",
        "PhysioNet/CinC Challenge 2015: no QRS complex for at least 4 s; 3 to 10 s by IEC 60601-2-27.",
        limit=Limit(4.0, "s", "asystole_s", 3.0, 10.0, "no beat for so long.", settable=True),
    ),
    Rule(
        1, "extreme tachycardia", "high", False, False, "Extreme tachycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 16 intervals is above {limit}/min, and the signal is good enough to say so.",
        "PhysioNet/CinC Challenge 2015: 17 beats in a row above 140/min.",
        limit=Limit(140.0, "/min", "extreme_tachycardia_bpm", 60.0, 300.0, "the rate is above this.", settable=True),
    ),
    Rule(
        2, "tachycardia", "medium", False, False, "Tachycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 8 intervals is above {limit}/min, and the signal is good enough to say "
        "so. Does not hold while the beats of half a minute are as unlike each other as unrelated signals.",
        limit=Limit(120.0, "/min", "tachycardia_bpm", 50.0, 300.0, "the rate is above this.", settable=True),
    ),
    Rule(
        3, "bradycardia", "medium", False, False, "Bradycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 8 intervals is below {limit}/min, and the signal is good enough to say so.",
        limit=Limit(45.0, "/min", "bradycardia_bpm", 15.0, 120.0, "the rate is below this.", settable=True),
    ),
    Rule(
        4, "extreme bradycardia", "high", False, False, "Extreme bradycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 4 intervals is below {limit}/min, and the signal is good enough to say so.",
        "PhysioNet/CinC Challenge 2015: five beats in a row below 40/min.",
        limit=Limit(40.0, "/min", "extreme_bradycardia_bpm", 10.0, 100.0, "the rate is below this.", settable=True),
    ),
    Rule(
        5, "anomalous beats", "low", False, False, "Anomalous beats",
        "{value:.0f} of the last 8 beats are unlike this stream's usual beats",
        "At least {limit} of the last eight beats have a score of 3 or more: one normal beat in a thousand has one.",
        limit=Limit(3.0, "of 8 beats"),
    ),
    Rule(
        6, "lead off", "medium", True, False, "Lead off",
        "{leads}",
        "The device reports that an electrode has no contact.",
    ),
    Rule(
        7, "flat line", "medium", True, False, "Flat line",
        "no signal for {limit:g} s with the leads on",
        "No signal for {limit} s although the leads are on.",
        limit=Limit(4.0, "s"),
    ),
    Rule(
        8, "no data", "high", True, False, "No data",
        "no usable message for {limit:g} s",
        "No message that can be used has arrived from the device for {limit} s.",
        limit=Limit(2.0, "s", "no_data_s", 1.0, 600.0, "no usable message for so long.", settable=True),
    ),
    Rule(
        9, "drift", "low", True, False, "Signal unlike the training data",
        "beats of the last minute differ from the training data ({value:.2f}, limit {limit:.2f})",
        "The beats of the last minute differ from those that the scoring model was trained on by more than "
        "{limit}; its scores may not hold.",
        limit=Limit(1.0, ""),  # where the scoring model has none
    ),
    Rule(
        10, "pause", "medium", False, False, "Pause",
        "{value:.1f} s between two beats, limit {limit:g} s",
        "More than {limit} s between two beats.",
        limit=Limit(
            3.0, "s", "pause_s", 1.5, 10.0,
            "an interval longer than this, and no longer than limits.asystole_s.", settable=True,
        ),
    ),
    Rule(
        11, "irregular rhythm", "medium", False, False, "Irregular rhythm",
        "atrial fibrillation suspected, rate {value:.0f}/min",
        "The intervals of the last minute are those of atrial fibrillation and its beats have no steady P "
        "wave, as trees judge, in two of the last four decisions; none counts where an error or more is "
        "expected in ten seconds and half of the beats are doubtful. Does not begin while more than a quarter"
        " of the beats of 15 s are ventricular. Ends when none of the last four decisions, one in 8 s, is for"
        " it.",
    ),
    Rule(
        12, "ventricular run", "medium", False, False, "Ventricular run",
        "three or more ventricular beats in a row, rate {value:.0f}/min",
        "The last {limit} beats are ventricular, as trees judge by the shape, the intervals and the quality "
        "of eight beats, and fewer than three errors are expected in ten seconds; not as fast as ventricular "
        "tachycardia, or too short.",
        "ANSI/AAMI EC57: a run is three ventricular beats or more.",
        limit=Limit(3.0, "beats"),
    ),
    Rule(
        13, "flutter", "high", False, True, "Flutter or fibrillation suspected",
        "ventricular fibrillation or flutter suspected",
        "The last six seconds are those of ventricular fibrillation or flutter. Ends when for 16 s they can "
        "be none, or a minute after the last that were. Stays until it is acknowledged.",
        "PhysioNet/CinC Challenge 2015: fibrillation or flutter for at least 4 s.",
    ),
    Rule(
        14, "refused", "high", True, False, "Not monitored",
        "not monitored: no room for another stream",
        "The monitor has no memory for another stream, or too many sampling rates; this one is not analysed.",
    ),
    Rule(
        15, "noise", "low", True, False, "Noise",
        "{value:.1f} errors expected in 10 s, limit {limit:g}",
        "The detector expects {limit} or more missed or false beats in ten seconds, at one of the last eight "
        "beats; no alert of rates or rhythm begins.",
        "The detector's own estimate, calibrated on the noise stress test.",
        limit=Limit(
            1.0, "", "most_errors", 0.1, 20.0,
            "with more errors than this expected in 10 s no pause and no run is reported.",
        ),
    ),
    Rule(
        16, "saturated", "low", True, False, "Signal at its limits",
        "a lead stands at the limits of its converter",
        "In one of the last two blocks of 2 s a lead stands for a quarter of a second at one value, 4 mV or "
        "more from zero.",
        "IEC 60601-2-27: monitors show signals of up to 5 mV; a converter's limits lie beyond.",
    ),
    Rule(
        17, "cannot analyse", "medium", True, False, "Cannot analyse",
        "no beat that can be trusted for {limit:g} s",
        "For {limit} s no beat that can be trusted, and neither asystole nor a flat line nor fibrillation. "
        "Rates and rhythm are not watched.",
        "IEC 60601-1-8: what an alarm system cannot detect is a technical alarm condition; 10 s is the time "
        "to alarm of IEC 60601-2-27.",
        limit=Limit(10.0, "s", "unjudged_s", 5.0, 60.0, "no beat that can be trusted for so long."),
    ),
    Rule(
        18, "cannot analyse for long", "high", True, False, "Cannot analyse for long",
        "no beat that can be trusted for {limit:g} s",
        "For {limit} s no beat that can be trusted, and neither asystole nor a flat line nor fibrillation. "
        "Takes the place of the alert of medium priority.",
        "IEC 60601-1-8: the priority of a condition that lasts may rise.",
        limit=Limit(30.0, "s", "long_unjudged_s", 5.0, 60.0, "the same."),
    ),
    Rule(
        19, "ventricular tachycardia", "high", False, True, "Ventricular tachycardia",
        "rate {value:.0f}/min, limit {limit:g}",
        "Ventricular beats in a row, five or so, faster than {limit}/min: two of the last three beats end a "
        "run, and fewer than three errors are expected in ten seconds. Stays until it is acknowledged.",
        "AHA/ACC/HRS 2017: three or more beats above 100/min; the challenge of 2015 demands five.",
        limit=Limit(
            100.0, "/min", "ventricular_tachycardia_bpm", 60.0, 300.0,
            "the rate of ventricular beats is above this.", settable=True,
        ),
    ),
    Rule(
        20, "couplet", "low", False, False, "Couplet",
        "two ventricular beats in a row",
        "Two ventricular beats in a row between others.",
        "ANSI/AAMI EC57: two ventricular beats are a couplet.",
    ),
    Rule(
        21, "bigeminy", "low", False, False, "Bigeminy",
        "every other beat is ventricular",
        "Three times in a row a ventricular beat after another one.",
    ),
    Rule(
        22, "trigeminy", "low", False, False, "Trigeminy",
        "every third beat is ventricular",
        "Three times in a row a ventricular beat after two others.",
    ),
    Rule(
        23, "frequent ventricular beats", "low", False, False, "Frequent ventricular beats",
        "{value:.0f} ventricular beats a minute, limit {limit:g}",
        "More than {limit} ventricular beats a minute, counted over 15 s.",
        limit=Limit(
            10.0, "/min", "frequent_ventricular_beats_bpm", 1.0, 20.0,
            "more than this a minute.", settable=True,
        ),
    ),
    Rule(
        24, "supraventricular tachycardia", "medium", False, False, "Supraventricular tachycardia",
        "rate {value:.0f}/min, limit {limit:g}",
        "Five supraventricular beats in a row, faster than {limit}/min.",
        limit=Limit(
            150.0, "/min", "supraventricular_tachycardia_bpm", 60.0, 300.0,
            "the rate is above this.", settable=True,
        ),
    ),
    Rule(
        25, "missed beat", "low", False, False, "Missed beat",
        "{value:.1f} s between two beats",
        "An interval of at most 3 s that is more than {limit} times the median of the last 8, or at above "
        "100/min more than 1 s, and more than 1.5 times the one before, after three normal beats; no pause, "
        "and no atrial fibrillation.",
        "Manuals of bedside monitors: 1.75 times the mean interval, or 1 s if the rate is high.",
        limit=Limit(
            1.75, "median intervals", "missed_beat_ratio", 1.25, 5.0,
            "an interval is longer than so many median ones.",
        ),
    ),
    Rule(
        26, "conflicting senders", "medium", True, False, "Conflicting senders",
        "two or more sessions of this stream take turns",
        "Sessions of this stream take turns: each has sent again after another one, within {limit} s, twice: "
        "two devices use one id. Each change of the sender begins the analysis anew: little or nothing is "
        "found. Ends when for {limit} s no session has come back.",
        limit=Limit(30.0, "s"),
    ),
)  # fmt: skip
# Rules of the service: no kernel knows them.
BLIND = Rule(
    None, "blind", "low", True, False, "Not monitored for a moment",
    "not monitored for {limit:g} s, while another worker takes the streams over",
    "Another worker takes the streams of this partition over; for {limit} s nothing of them has been published.",
    limit=Limit(5.0, "s"),
)  # fmt: skip
EXPIRED = Rule(
    None, "expired", "medium", True, False, "Samples deleted unread",
    "{value:.0f} messages were deleted before they were read",
    "Kafka's retention deleted messages of this partition before a monitor read them: no beat and no "
    "alert was published for them.",
)  # fmt: skip
SERVICE_RULES = (BLIND, EXPIRED)
NUMBERS = {rule.name: number for number, rule in enumerate(RULES)}
