"""Admin clients at the end of Python: no request of theirs calls it any more."""

import subprocess
import sys

import pytest
from moments import LIMIT_S

# What the C library does at its end takes a second here (the exit code), as that of GPU libraries may. Until then a
# thread of librdkafka may call Python: the request ends half a second after it began. No broker listens on port 1.
_COMMAND = """
import ctypes, sys, threading
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.topic_kinds import ConfigResource
libc = ctypes.CDLL(None)
libc.on_exit(ctypes.cast(libc.sleep, ctypes.c_void_p), None)
asked = threading.Event()
def ask():
    admin = Cluster("127.0.0.1:1").admin()
    future, = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "x")], request_timeout=0.5).values()
    asked.set()
    {then}
threading.Thread(target=ask, daemon=True).start()
asked.wait()
sys.exit(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="on_exit is the GNU C library's")
@pytest.mark.parametrize(
    "then",
    [
        "threading.Event().wait()",
        "future.exception()\n    admin.list_topics(timeout=60)",
        "future.exception()\n    Cluster('127.0.0.1:1').admin()",
        "admin.list_topics(timeout=60)",
    ],
    ids=["waits", "asks again", "begins anew", "in a call"],
)
def test_a_request_that_is_in_flight_when_a_command_ends_does_not_crash_it(then: str) -> None:
    command = [sys.executable, "-c", _COMMAND.format(then=then)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


_COLLECTED = """
import gc, threading
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.topic_kinds import ConfigResource
gc.disable()
admin = Cluster("127.0.0.1:1").admin()
future, = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "x")], request_timeout=0.5).values()
done = threading.Event()
future.add_done_callback(lambda _: (gc.collect(), done.set()))
cycle = [admin]
cycle.append(cycle)
del admin, cycle
done.wait()
print("collected")
"""


def test_a_client_that_its_own_thread_collects_as_garbage_does_not_abort_the_process() -> None:
    command = [sys.executable, "-c", _COLLECTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "collected\n", "")
