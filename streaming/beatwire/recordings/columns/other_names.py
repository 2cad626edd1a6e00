"""Words in names of columns that hold another quantity than an ECG, a setting of one, or a label.

A word is in lower case and without digits at its end, as ``names`` parts it.
"""

OTHER = {
    "hr", "bpm", "heart", "heartrate", "rate", "pulse", "rr", "rri", "ibi", "hrv", "nn", "acc", "gyro", "gyr", "mag",
    "imu", "bat", "battery", "batt", "temp", "temperature", "subject", "subj", "patient", "id", "age", "sex", "marker",
    "markers", "mark", "event", "events", "label", "labels", "annotation", "annotations", "annot", "ann", "class",
    "symbol", "beat", "beats", "target", "ppg", "pleth", "spo2", "sao2", "resp", "respiration", "rsp", "breathing",
    "breath", "eda", "gsr", "emg", "eeg", "eog", "bvp", "abp", "art", "cvp", "pap", "bp", "nibp", "icp", "pressure",
    "co2", "etco2", "quality", "sqi", "status", "state", "flag", "flags", "valid", "error", "peak", "peaks", "rpeak",
    "rpeaks", "r_peaks", "phase", "trigger", "trig", "sync", "stim", "digital", "crc", "checksum", "lod", "leadoff",
    "off", "lat", "lon", "latitude", "longitude", "altitude", "speed", "step", "steps", "activity", "posture", "skin",
    "humidity", "lux", "impedance", "imp", "session", "device", "noise", "onsets", "offsets", "version",
    "light", "baro", "gps", "rssi", "seq", "nseq", "cadence", "weight", "height", "position", "pos", "note", "notes",
    "comment", "comments", "red", "ir", "green", "puls", "herzfrequenz", "batterie", "akku", "temperatur", "split",
    "fold", "rip", "atmung", "group", "condition", "stage", "sleep", "stress", "glucose", "lod+", "lod-",
    "segment", "trial", "window", "task", "st", "qt", "qtc", "pr", "edr", "ax", "ay", "az", "gx", "gy", "gz", "vbat",
    "vbatt", "vcc", "vdd", "vsys", "vref", "supply", "lo", "lo+", "pace", "pacer", "pacing", "stimulus", "flow",
    "airflow", "force", "torque", "angle", "sound", "audio", "mic", "effort",
}  # fmt: skip
OTHER_BEGIN = ("acc", "gyr", "magnet", "temper", "batt", "resp", "label", "annot", "pleth", "subject", "quality",
               "heartrate", "marker", "trigger", "pulse", "spo2", "humid")  # fmt: skip

# Of a column that never changes: how the ECG was recorded.
SETTINGS = {"gain", "offset", "range", "scale", "resolution", "sensitivity", "bits", "threshold", "baseline"}

# Of the names of other quantities those that are physical: a column of one is no ECG even where it is alone.
QUANTITIES = {
    "hr", "bpm", "heartrate", "rate", "pulse", "puls", "herzfrequenz", "rr", "rri", "ibi", "hrv", "nn", "acc", "gyro",
    "gyr", "mag", "imu", "temp", "temperature", "temperatur", "skin", "battery", "batt", "batterie", "akku", "ppg",
    "bvp", "pleth", "spo2", "sao2", "resp", "respiration", "rsp", "breathing", "breath", "atmung", "rip", "eda", "gsr",
    "emg", "eeg", "eog", "abp", "art", "cvp", "pap", "bp", "nibp", "icp", "pressure", "co2", "etco2", "humidity", "lux",
    "impedance", "latitude", "longitude", "altitude", "speed", "cadence", "weight", "height", "age", "glucose", "rssi",
    "qtc", "edr", "ax", "ay", "az", "gx", "gy", "gz", "vbat", "vbatt", "flow", "airflow", "force", "torque",
}  # fmt: skip
QUANTITIES_BEGIN = ("acc", "gyr", "magnet", "temper", "batt", "resp", "pleth", "heartrate", "pulse", "spo2", "humid")
