"""Analyze a synthetic recording, then push the same samples as a device would.

Run it: python docs/examples/analyze_and_live.py
Prints the summary, the alerts, and what the live monitor decides; writes ``stretch.png`` into the current folder.
"""

import beatwire

result = beatwire.analyze("synthetic:seconds=120,bpm=70,seed=3")
print(result)
print()
print(result.beats[["time_s", "rr_ms", "quality", "score"]].head().round(3).to_string(index=False))

ecg = result.signal()[0]  # millivolts, float64 [n]
ecg[20_000:22_000] = ecg[20_000]  # eight seconds without a heartbeat

live = beatwire.Live(fs=result.fs, leads=["II"], units="mV", stream="bed-1", start_s=0)
for first in range(0, len(ecg), 50):  # 200 ms
    for alert in live.push(ecg[first : first + 50]).alerts:
        print(f"{first / result.fs:6.1f} s  {alert['state']:7}  {alert['text']}")
live.close()

result.plot(start_s=10, seconds=8).savefig("stretch.png")
