"""Drawn devices, whose packets are lost, doubled or late, and what is true of the places of their packets."""

from device_packets import Device, outcome
from hypothesis import strategies as st

WARM = 20  # packets before anything goes wrong: a clock shows its jitter in them
KINDS = {
    "count": (True, True),
    "count alone": (True, False),
    "times": (False, True),
    "stamps": (False, True),
    "arrivals": (False, False),
}


@st.composite
def devices(draw: st.DrawFn, kind: str) -> Device:
    """Draw a device: packets of 20-600 ms, losses, doubles, stalls, jitter and drift."""
    has_count, has_times = KINDS[kind]
    rate_hz = draw(st.sampled_from([100.0, 125.0, 130.0, 200.0, 250.0, 256.0, 360.0, 500.0, 1000.0]))
    packet_s = draw(st.sampled_from([0.04, 0.1, 0.2, 73 / 130]))
    size = max(8, round(packet_s * rate_hz))
    packet_s = size / rate_hz
    packets = WARM + round(draw(st.floats(8.0, 25.0)) / packet_s)
    some = st.lists(st.integers(WARM, packets - round(3.0 / packet_s) - 4), max_size=6)
    lost = frozenset(k + j for k in draw(some) for j in range(draw(st.integers(1, 4))))
    jitter_s = {"times": 0.3 / rate_hz, "stamps": 0.0, "arrivals": 0.0}.get(kind, 0.01)
    stalls = {k: draw(st.floats(0.1, 3.0)) for k in draw(some)}
    if kind in ("stamps", "arrivals"):  # without a clock of the device nothing shows what is missing in a stall
        stalls = dict(list(stalls.items())[:1])
        for k, stall_s in stalls.items():
            lost -= frozenset(range(k - 5, k + round(stall_s / packet_s) + 6))
    return Device(
        rate_hz=rate_hz,
        ppm=draw(st.floats(-400, 400)),
        size=size,
        packets=packets,
        lost=lost,
        doubled=frozenset(draw(some)) - lost,
        stalls=stalls,
        is_stamped=kind == "stamps",
        clock_jitter_s=draw(st.floats(0, jitter_s)),
        arrival_jitter_s=draw(st.floats(0, 0.25 * packet_s)),
        has_count=has_count,
        has_times=has_times,
        seed=draw(st.integers(0, 9)),
    )


def assert_true(device: Device) -> None:
    """Every packet that arrived is at its place, once."""
    found = outcome(device)
    arrived = [k for k in range(device.packets) if k not in device.lost]
    assert sorted(found.where) == arrived
    assert len(found.placed) == len(arrived), "a packet was placed twice"
    assert found.placer.doubled == len(device.doubled)
    assert found.placer.sessions == 1, found.notes
    zero = found.where[arrived[0]][1] - arrived[0] * device.size
    wrong = {
        k: first - k * device.size - zero for k, (_, first) in found.where.items() if first - k * device.size != zero
    }
    assert wrong == {}
