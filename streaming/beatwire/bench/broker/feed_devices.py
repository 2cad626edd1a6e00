"""The devices of ``beatwire bench feed``, in a process of their own: MQTT messages and LSL streams in real time.

Arguments: port of the MQTT broker, number of MQTT devices, number of LSL streams, their type, seconds. Output: the
number of samples that each device sent, and by how many milliseconds this process was behind the time at most.
"""

import struct
import sys
import time

import numpy as np
import paho.mqtt.client as paho
import pylsl
from beatwire_producers.ward import ward
from paho.mqtt.enums import CallbackAPIVersion

RATE_HZ = 250
PACKET = 25  # samples of a message of MQTT
CHUNK = 10  # samples that are pushed to LSL together
_TICK_S = 0.02


def main() -> None:
    """Send until the time is over."""
    port, devices, streams, kind, seconds = (
        int(sys.argv[1]),
        int(sys.argv[2]),
        int(sys.argv[3]),
        sys.argv[4],
        float(sys.argv[5]),
    )
    signal = ward(1, 60.0, seed=1, events=()).feeds[0].recording.samples[0]
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    client.connect("127.0.0.1", port)
    client.loop_start()
    outlets = []
    for k in range(streams):
        info = pylsl.StreamInfo(f"lsl-{k}", kind, 1, RATE_HZ, pylsl.cf_int16, f"lsl-{k}")
        outlets.append(pylsl.StreamOutlet(info))
    deadline = time.monotonic() + 60.0
    while not all(outlet.have_consumers() for outlet in outlets) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    total = int(seconds * RATE_HZ) // 50 * 50
    sent = np.zeros(devices + streams, np.int64)
    phase = np.concatenate(
        [np.arange(devices) * PACKET // max(1, devices), np.arange(streams) * CHUNK // max(1, streams)]
    )
    size = np.array([PACKET] * devices + [CHUNK] * streams)
    offset = np.arange(devices + streams) * 997 % (len(signal) - 1)
    began, epoch_us, lsl_s, behind_s = time.monotonic(), time.time_ns() // 1000, pylsl.local_clock(), 0.0
    while int(sent.min()) < total:
        due = int((time.monotonic() - began) * RATE_HZ)
        for k in np.flatnonzero((sent + size + phase <= due) & (sent < total)).tolist():
            first, count = int(sent[k]), int(size[k])
            values = signal.take(range(offset[k] + first, offset[k] + first + count), mode="wrap")
            if k < devices:
                time_us = epoch_us + (first + int(phase[k])) * 1_000_000 // RATE_HZ
                payload = struct.pack("<IQ", first, time_us) + values.astype("<i2").tobytes()
                client.publish(f"bench/{k}/ecg", payload, qos=1)
            else:
                last_s = lsl_s + (first + int(phase[k]) + count - 1) / RATE_HZ
                outlets[k - devices].push_chunk(values.reshape(-1, 1).astype(np.int16).tolist(), last_s)
            sent[k] += count
        behind_s = max(behind_s, (due - int((sent + phase)[sent < total].min(initial=due))) / RATE_HZ)
        time.sleep(_TICK_S)
    time.sleep(2.0)
    client.disconnect()
    client.loop_stop()
    print(total, round(1000 * behind_s))  # noqa: T201  read by the benchmark


if __name__ == "__main__":
    main()
