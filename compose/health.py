"""Health check of a container: ``python health.py monitor|dashboard|ward``; the exit code is 0 if the service works.

monitor     its workers have partitions and are not interrupted (``/readyz``)
dashboard   the page answers, and refuses whoever has no token
ward        messages are being added to the topic of samples
"""

import contextlib
import http.client
import os
import pathlib
import sys
import time

PORTS = {"monitor": 9100, "dashboard": 8765}


def status(port: int, path: str) -> int:
    """Return the status of the answer to a request to this container."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=3.0)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def grows(seconds: float = 1.0) -> bool:
    """Return True if the topic of samples has more messages after some seconds."""
    from beatwire.configuration.effect import cluster_of
    from beatwire.configuration.load import load
    from beatwire.kafka.topics import end_offsets
    from beatwire.wire.names import SAMPLES

    path = os.environ.get("BEATWIRE_CONFIG")
    cluster = cluster_of(load(pathlib.Path(path) if path else None).values)
    before = end_offsets(cluster, SAMPLES, timeout_s=3.0)
    time.sleep(seconds)
    return end_offsets(cluster, SAMPLES, timeout_s=3.0) != before


def works(service: str) -> bool:
    """Return True if a service of this container works."""
    if service == "monitor":
        return status(PORTS[service], "/readyz") == 200
    if service == "dashboard":
        return status(PORTS[service], "/") == 401
    return grows()  # with the address in BEATWIRE_BOOTSTRAP


if __name__ == "__main__":
    try:
        sys.exit(not works(sys.argv[1]))
    except OSError as error:
        sys.exit(f"health: {error}")
