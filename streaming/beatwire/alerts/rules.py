"""The table of alert rules: a new one is an entry here, a kernel and a test.

The numbers count up from 0: they are the rows of the kernels' state, and the places of the limits that kernels get. The
configuration, the ranges, the limits that staff can set, the schema of messages, the page and the documents follow.
"""

from beatwire.alerts.rule import Limit, Rule

RULES = (
    Rule(
        0, "asystole", "high", False, True, "Asystole",
        "no beat for {limit:g} s",
        "No heartbeat for {limit} s with the electrodes attached. If the last beat was doubtful, the signal "
        "must be flat too; after a long poor signal the alarm waits 6 s more. Waves smaller than 15 % of a "
        "normal beat do not count for 20 s. Stays until it is acknowledged.",
        "PhysioNet/CinC Challenge 2015: no QRS complex for at least 4 s; 3 to 10 s by IEC 60601-2-27.",
        limit=Limit(4.0, "s", "asystole_s", 3.0, 10.0, "no beat for so long.", settable=True),
    ),
    Rule(
        1, "extreme tachycardia", "high", False, False, "Extreme tachycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 16 intervals is above {limit}/min. The signal is good enough to say so.",
        "PhysioNet/CinC Challenge 2015: 17 beats in a row above 140/min.",
        limit=Limit(140.0, "/min", "extreme_tachycardia_bpm", 60.0, 300.0, "the rate is above this.", settable=True),
    ),
    Rule(
        2, "tachycardia", "medium", False, False, "Tachycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 8 intervals is above {limit}/min. The signal is good enough to say so, and "
        "the beats of half a minute are like each other.",
        limit=Limit(120.0, "/min", "tachycardia_bpm", 50.0, 300.0, "the rate is above this.", settable=True),
    ),
    Rule(
        3, "bradycardia", "medium", False, False, "Bradycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 8 intervals is below {limit}/min. The signal is good enough to say so.",
        limit=Limit(45.0, "/min", "bradycardia_bpm", 15.0, 120.0, "the rate is below this.", settable=True),
    ),
    Rule(
        4, "extreme bradycardia", "high", False, False, "Extreme bradycardia",
        "median rate {value:.0f}/min, limit {limit:g}",
        "The median rate of the last 4 intervals is below {limit}/min. The signal is good enough to say so.",
        "PhysioNet/CinC Challenge 2015: five beats in a row below 40/min.",
        limit=Limit(40.0, "/min", "extreme_bradycardia_bpm", 10.0, 100.0, "the rate is below this.", settable=True),
    ),
    Rule(
        5, "anomalous beats", "low", False, False, "Anomalous beats",
        "{value:.0f} of the last 8 beats are unlike this stream's usual beats",
        "At least {limit} of the last 8 beats look unusual for this stream. Only one normal beat in a thousand "
        "looks as unusual (score 3).",
        limit=Limit(3.0, "of 8 beats"),
    ),
    Rule(
        6, "lead off", "medium", True, False, "Lead off",
        "{leads}",
        "The device reports that an electrode has no contact. Where all leads come off, that is another alert.",
    ),
    Rule(
        7, "flat line", "medium", True, False, "Flat line",
        "no signal for {limit:g} s with the leads on",
        "No signal for {limit} s although the electrodes are attached.",
        limit=Limit(4.0, "s"), prevents="analysis",
    ),
    Rule(
        8, "no data", "high", True, False, "No data",
        "no usable message for {limit:g} s",
        "No usable message from the device for {limit} s.",
        limit=Limit(2.0, "s", "no_data_s", 1.0, 600.0, "no usable message for so long.", settable=True),
        prevents="analysis",
    ),
    Rule(
        9, "drift", "low", True, False, "Signal unlike the training data",
        "beats of the last minute differ from the training data ({value:.2f}, limit {limit:.2f})",
        "The beats of the last minute differ from those that the scoring model was trained on by more than "
        "{limit}. Its scores may not hold.",
        limit=Limit(1.0, ""),  # where the scoring model has none
    ),
    Rule(
        10, "pause", "medium", False, False, "Pause",
        "{value:.1f} s between two beats, limit {limit:g} s",
        "More than {limit} s between two beats; beyond the limit of asystole it is no pause.",
        limit=Limit(
            3.0, "s", "pause_s", 1.5, 10.0,
            "an interval longer than this, and no longer than limits.asystole_s.", settable=True,
        ),
    ),
    Rule(
        11, "irregular rhythm", "medium", False, False, "Irregular rhythm",
        "atrial fibrillation suspected, rate {value:.0f}/min",
        "Atrial fibrillation is suspected: irregular intervals in the last minute, and no steady P wave. A trained "
        "model decides every 8 s, and two of the last four decisions are for it; a poor signal does not count. "
        "Does not begin while more than a quarter of the beats of 15 s are ventricular. Ends when none of the "
        "last four decisions is for it.",
    ),
    Rule(
        12, "ventricular run", "medium", False, False, "Ventricular run",
        "three or more ventricular beats in a row, rate {value:.0f}/min",
        "The last {limit} beats are ventricular. A trained model judges shape, intervals and quality of eight "
        "beats; fewer than three errors are expected in 10 s. Slower than ventricular tachycardia, or too short "
        "for it.",
        "ANSI/AAMI EC57: a run is three ventricular beats or more.",
        limit=Limit(3.0, "beats"),
    ),
    Rule(
        13, "ventricular fibrillation", "high", False, True, "Ventricular fibrillation",
        "suspected from the last 6 s",
        "The last 6 s look like ventricular fibrillation or flutter. Ends after 16 s in which they are ruled "
        "out, or one minute after they were last seen. Stays until it is acknowledged.",
        "PhysioNet/CinC Challenge 2015: fibrillation or flutter for at least 4 s.",
        prevents="rate",
    ),
    Rule(
        14, "not monitored", "high", True, False, "Not monitored",
        "no room for another stream",
        "The monitor has no room for this stream. Its memory is full, or there are too many sampling rates; the "
        "stream is not analysed.",
        prevents="analysis",
    ),
    Rule(
        15, "noise", "low", True, False, "Noise",
        "{value:.1f} errors expected in 10 s, limit {limit:g}",
        "The signal is noisy: {limit} or more missed or false beats are expected in 10 s, at one of the last "
        "eight beats. No alert of rate or rhythm begins.",
        "The detector's own estimate, calibrated on the noise stress test.",
        limit=Limit(
            1.0, "", "most_errors", 0.1, 20.0,
            "with more errors than this expected in 10 s no pause and no run is reported.",
        ),
    ),
    Rule(
        16, "saturated", "low", True, False, "Signal at its limits",
        "a lead is stuck at the limits of its converter",
        "A lead is stuck at the limits of its converter. In one of the last two blocks of 2 s it stayed at one "
        "value for a quarter of a second, 4 mV or more from zero.",
        "IEC 60601-2-27: monitors show signals of up to 5 mV; a converter's limits lie beyond.",
    ),
    Rule(
        17, "cannot analyse", "medium", True, False, "Cannot analyse",
        "no beat that can be trusted for {limit:g} s",
        "No beat that can be trusted for {limit} s. There is neither asystole nor a flat line nor fibrillation; "
        "rate and rhythm are not watched.",
        "IEC 60601-1-8: what an alarm system cannot detect is a technical alarm condition; 10 s is the time "
        "to alarm of IEC 60601-2-27.",
        limit=Limit(10.0, "s", "unjudged_s", 5.0, 60.0, "no beat that can be trusted for so long."),
        prevents="analysis",
    ),
    Rule(
        18, "cannot analyse", "high", True, False, "Cannot analyse",
        "no beat that can be trusted for {limit:g} s",
        "No beat that can be trusted for {limit} s. There is neither asystole nor a flat line nor fibrillation; "
        "rate and rhythm are not watched. Takes the place of the alert of medium priority.",
        "IEC 60601-1-8: the priority of a condition that lasts may rise.",
        limit=Limit(30.0, "s", "long_unjudged_s", 5.0, 60.0, "after so long its priority is high."), raises=True,
        prevents="analysis",
    ),
    Rule(
        19, "ventricular tachycardia", "high", False, True, "Ventricular tachycardia",
        "rate {value:.0f}/min, limit {limit:g}",
        "Five or so ventricular beats in a row, faster than {limit}/min. Two of the last three beats end a run, "
        "and fewer than three errors are expected in 10 s. Stays until it is acknowledged.",
        "AHA/ACC/HRS 2017: three or more beats above 100/min; the challenge of 2015 demands five.",
        limit=Limit(
            100.0, "/min", "ventricular_tachycardia_bpm", 60.0, 300.0,
            "the rate of ventricular beats is above this.", settable=True,
        ),
    ),
    Rule(
        20, "couplet", "low", False, False, "Couplet",
        "two ventricular beats in a row",
        "Two ventricular beats in a row between other beats.",
        "ANSI/AAMI EC57: two ventricular beats are a couplet.",
    ),
    Rule(
        21, "bigeminy", "low", False, False, "Bigeminy",
        "every other beat is ventricular",
        "Every other beat is ventricular, three times in a row.",
    ),
    Rule(
        22, "trigeminy", "low", False, False, "Trigeminy",
        "every third beat is ventricular",
        "Every third beat is ventricular, three times in a row.",
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
        "A beat seems to be missing: an interval is more than {limit} times the median of the last 8. Above "
        "100/min more than 1 s is enough. It is at most 3 s, more than 1.5 times the one before, and follows "
        "three normal beats. A pause is none, and in atrial fibrillation there is none.",
        "Manuals of bedside monitors: 1.75 times the mean interval, or 1 s if the rate is high.",
        limit=Limit(
            1.75, "median intervals", "missed_beat_ratio", 1.25, 5.0,
            "an interval is longer than so many median ones.",
        ),
    ),
    Rule(
        26, "conflicting senders", "medium", True, False, "Conflicting senders",
        "two or more devices send this stream",
        "Two devices send under one id. Their sessions take turns: each has sent again after another one, within "
        "{limit} s, twice; each change begins the analysis anew: little is found. Or they send one session: four "
        "samples in a row, one a second, came again with other values, or for 6 s chunks that cannot be used came "
        "beside those of the stream. Ends after {limit} s without any.",
        limit=Limit(30.0, "s"), prevents="analysis",
    ),
    Rule(
        27, "rate contradicted", "medium", True, False, "Rate contradicted",
        "by the times of its chunks the rate is off by {value:+.1f} %",
        "By the times of its chunks the stream's rate is off by more than {limit} %, for 30 s. Either the stated rate "
        "is wrong, and with it the heart rate and all intervals, or the device's clock.",
        limit=Limit(2.0, "%"), prevents="rate",
    ),
)  # fmt: skip
# Rules of the service: no kernel knows them.
INTERRUPTED = Rule(
    None, "monitoring interrupted", "low", True, False, "Monitoring interrupted",
    "for {limit:g} s, while another worker takes the streams over",
    "These beds have not been monitored for {limit} s: another worker is taking them over.",
    limit=Limit(5.0, "s"),
)  # fmt: skip
SAMPLES_LOST = Rule(
    None, "samples lost", "medium", True, False, "Samples lost",
    "{value:.0f} messages were deleted before they were read",
    "Samples were deleted before the monitor read them. Kafka's retention was shorter than the time without a "
    "monitor: no beat and no alert was published for them.",
)  # fmt: skip
SERVICE_RULES = (INTERRUPTED, SAMPLES_LOST)
NUMBERS = {rule.key: number for number, rule in enumerate(RULES)}
NAMES = frozenset(rule.name for rule in (*RULES, *SERVICE_RULES))


def number_of(rule: str, priority: str) -> int:
    """Return the number of the rule of a message.

    >>> number_of("cannot analyse", "medium"), number_of("cannot analyse", "high"), number_of("pause", "medium")
    (17, 18, 10)
    """
    return NUMBERS.get(f"{rule}, {priority}", NUMBERS[rule])
