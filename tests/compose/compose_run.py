"""``make compose-test``: the containers of ``compose/`` run on this machine, from their images to ``down`` and ``up``.

In: the compose files. Out: a line for each step with its time; an exit code of 1 with the reason where a step fails.
Images of others are stand-ins: `containers`. Podman before 4.6 cannot wait for health, and without systemd it does not
check it: so this program starts the services in the order of ``depends_on``, and runs their health checks.
"""

import argparse
import json
import os
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from beatwire.bench.chaos.compare import compare_outputs
from beatwire.bench.chaos.run import published_output
from beatwire.bench.chaos.undisturbed import undisturbed_output
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import group_lag
from beatwire.kafka.reading.readers import read_letters_by_message
from beatwire.kafka.topics import TOPICS, end_offsets
from beatwire.locks import locked
from beatwire.wire import names
from compose_files import FILES, FOLDER
from containers import TOKEN, Podman, missing
from page_client import Client
from websockets.exceptions import WebSocketException

STREAMS = 8
PAGE = f"http://127.0.0.1:8765/?token={TOKEN}"
GROUP = "beatwire"
LARGEST_GB = 0.8
READY_S = 5
COMPILES = "compiling the kernels"


class Run:
    """The steps of a run, in order.

    Parameters
    ----------
    podman
        Where they run.
    cluster
        Three brokers and four workers.
    """

    def __init__(self, podman: Podman, *, cluster: bool) -> None:
        self.podman, self.services = podman, podman.services
        self.broker = Cluster("127.0.0.1:29092,127.0.0.1:29093,127.0.0.1:29094" if cluster else "127.0.0.1:29092")
        self._began = self._step = time.monotonic()
        self._seen = datetime.now(UTC)
        self.order: list[str] = []
        while len(self.order) < len(self.services):
            ready = [name for name in self.services if self._needs(name) <= {*self.order}]
            self.order += [name for name in ready if name not in self.order]

    def say(self, text: str) -> None:
        """Print a step with its time, and the time since the beginning."""
        now = time.monotonic()
        print(f"{now - self._began:6.0f} s  {now - self._step:6.1f} s  {text}", flush=True)
        self._step = now

    def _needs(self, name: str) -> set[str]:
        return {other for other in self.services[name].get("depends_on", {}) if other in self.services}

    def wait(self, what: str, done: Callable[[], object], within_s: float = 120.0, *, every_s: float = 0.2) -> None:
        """Wait until something is so, else stop with the last lines of all logs."""
        deadline = time.monotonic() + within_s
        while not done():
            if time.monotonic() > deadline:
                logs = [(name, self.podman("logs", "--tail=15", _container(name), check=False)) for name in self.order]
                print(*(f"--- {name}\n{log}" for name, log in logs), sep="\n")
                raise SystemExit(f"expected within {within_s:g} s: {what}")
            time.sleep(every_s)
        self._seen = datetime.now(UTC)

    def works(self, name: str) -> bool:
        """Return True if a service is healthy, or has done its work."""
        if self.services[name].get("healthcheck", {}).get("disable"):
            return self.podman.inspect(_container(name), "{{.State.Status}} {{.State.ExitCode}}") == "exited 0"
        return self.podman.ok("healthcheck", "run", _container(name))

    def up(self) -> None:
        """Start each service when those that it depends on work, and wait for all."""
        seen: set[str] = set()

        def wait_for(name: str) -> None:
            if name not in seen:
                self.wait(f"{name} healthy, or ended with 0", lambda: self.works(name))
                self.say(f"up {name}: works, seen {self._since_start_s(name):.1f} s after its start")
                seen.add(name)

        for name in self.order:
            for other in self._needs(name):
                wait_for(other)
            self.podman.compose("up", "--detach", "--no-deps", name)
        for name in self.order:
            wait_for(name)

    def ward_moves(self) -> None:
        """Wait until the page shows two more seconds of each stream, and beats of each are published."""
        enough = sum(end_offsets(self.broker, names.BEATS).values()) + STREAMS
        self.wait("a moving ward on the page", _page_moves, 180.0)
        self.wait("beats of all streams", lambda: sum(end_offsets(self.broker, names.BEATS).values()) > enough)

    def starts(self, name: str, port: int) -> None:
        """Stop a service and start it; say after which time it answers that it is ready."""
        self.podman.compose("stop", name)
        self.podman("start", _container(name))
        networks = json.loads(self.podman.inspect(_container(name), "{{json .NetworkSettings.Networks}}"))
        address = next(iter(networks.values()))["IPAddress"]
        self.wait(f"{name} ready", lambda: _answers(f"http://{address}:{port}/readyz"), every_s=0.02)
        self.say(f"start {name}: ready {self._since_start_s(name):.1f} s after its start; at most {READY_S}, idle")

    def _since_start_s(self, name: str) -> float:
        started = self.podman.inspect(_container(name), "{{json .State.StartedAt}}").strip('"')
        return (self._seen - datetime.fromisoformat(started)).total_seconds()

    def restart(self, name: str) -> None:
        """Restart a service, and wait until it works and the ward moves."""
        self.podman.compose("restart", name)
        self.wait(f"{name} healthy after a restart", lambda: self.works(name))
        self.ward_moves()
        self.say(f"restart {name}: healthy, the ward moves")

    def compare(self) -> None:
        """Stop the ward; what was published must equal what one undisturbed monitor publishes for the same messages."""
        self.podman.compose("stop", "ward")
        self.wait("all messages read", self._all_read, 300.0)
        output = compare_outputs(
            undisturbed_output(self.broker), published_output(self.broker, read_letters_by_message(self.broker))
        )
        for kind, each in output.items():
            if not each.equal:
                raise SystemExit(f"{kind}: {json.dumps(each.as_dict(), indent=1)}")
        counted = ", ".join(f"{each.expected} {kind}" for kind, each in output.items())
        self.say(f"compared with an undisturbed run: {counted}; none missing, twice or different")

    def _all_read(self) -> bool:
        try:
            return group_lag(self.broker, GROUP) == 0
        except FatalError:
            return False

    def stored(self) -> dict[tuple[str, int], int]:
        """Return the end of each partition of each topic."""
        return {(topic, k): end for topic in TOPICS for k, end in end_offsets(self.broker, topic).items()}

    def down(self, *words: str) -> None:
        """Stop the services as docker compose does, dependents first; remove the containers."""
        for name in reversed(self.order):
            self.podman.compose("stop", name)
        self.podman.compose("down", *words)


def _container(name: str) -> str:
    return f"beatwire_{name}_1"


def _page_moves() -> bool:
    """Return True if the page shows two more seconds of each stream soon; a machine that is busy may need longer."""
    try:
        with Client(PAGE, origin="http://127.0.0.1:8765") as client:
            beds = [bed["stream"] for bed in client.expect("ward")["beds"]]  # alerts of a topic may be one
            client.send(type="watch", streams=beds, leads="first")

            def seconds(number: int) -> float:
                of_it = [block for block in client.blocks if block.stream == number][1:]  # the first has old ones
                return sum(block.samples.shape[1] / block.rate_hz for block in of_it)

            client.until(lambda: sum(seconds(n) > 2 for n in {b.stream for b in client.blocks}) >= STREAMS, 30.0)
            return True
    except (OSError, WebSocketException):  # a time-out is an OSError
        return False


def _answers(url: str) -> bool:
    """Return True if an address answers that all is well."""
    try:
        with urllib.request.urlopen(url, timeout=1) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def measured(at: float) -> int:
    """Return how many workers Prometheus knew at a time, from its own store."""
    query = urllib.parse.urlencode({"query": "beatwire_ready", "time": at})
    with urllib.request.urlopen(f"http://127.0.0.1:9090/api/v1/query?{query}", timeout=60) as reply:
        return len(json.load(reply)["data"]["result"])


def check_image(run: Run) -> None:
    """Build the image; it is small, and analyzes with the kernels that it has, without a place to write but /tmp."""
    podman, image = run.podman, "localhost/beatwire:cpu"
    podman.build(image, "--file", str(FOLDER / "Dockerfile"), "--target=cpu", str(FOLDER.parent))
    size = int(podman.inspect(image, "{{.Size}}")) / 1e9
    run.say(f"image beatwire:cpu: {size:.2f} GB; at most {LARGEST_GB}")
    if size > LARGEST_GB:
        raise SystemExit(f"image: expected at most {LARGEST_GB} GB; got {size:.2f}")
    alone = ["run", "--rm", "--read-only", "--tmpfs=/tmp", "--user=10001:10001", "--cap-drop=all", "--network=none"]
    printed = podman(*alone, image, "analyze", "synthetic:seconds=60", "--json")
    if COMPILES in printed or '"beats"' not in printed:
        raise SystemExit(f"image: expected an analysis with the kernels of the image; got {printed}")
    run.say("the image analyzes, read-only and without a network: nothing is compiled")


def check_stack(run: Run) -> None:
    """Start the services, restart each, stop and start all; nothing is lost."""
    podman = run.podman
    run.up()
    run.ward_moves()
    run.say("the page shows a moving ward")
    run.wait("metrics of the monitor", lambda: measured(time.time()), 60.0)
    run.starts("monitor", 9100)
    for name in run.order:
        run.restart(name)
    kept, at = run.stored(), time.time()
    run.down()
    run.say("down")
    run.up()
    lost = {place: end for place, end in run.stored().items() if end < kept[place]}
    if lost or not measured(at):
        raise SystemExit(f"after down and up: expected {kept} and metrics of {at}; got {lost}, {measured(at)}")
    run.ward_moves()
    run.say("up again: topics, metrics and machine code are kept; the ward moves")
    if COMPILES in podman("logs", _container("monitor")):
        raise SystemExit("monitor: expected kernels from the image")
    run.compare()
    run.down("--volumes")
    run.say("down --volumes")


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description="Run the containers of compose/ with stand-ins for images of others.")
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beatwire" / "containers"
    parser.add_argument("--folder", type=Path, default=default, help="for images and volumes, 4 GB (%(default)s)")
    parser.add_argument("--driver", default="overlay", help="of podman's store: overlay or vfs (%(default)s)")
    parser.add_argument("--cluster", action="store_true", help="compose.cluster.yaml as well")
    given = parser.parse_args()
    lacking = missing()
    if lacking:
        raise SystemExit(f"compose-test: {lacking}")
    podman = Podman(given.folder, [FILES[0], FILES[2]] if given.cluster else [FILES[0]], given.driver)
    run = Run(podman, cluster=given.cluster)
    with locked(given.folder / "lock"):
        podman.clear()
        try:
            for line in podman.make_stand_ins():
                run.say(f"stand-in: {line}")
            check_image(run)
            check_stack(run)
        except (OSError, FatalError) as error:  # the page or the broker does not answer
            raise SystemExit(f"compose-test: {type(error).__name__}: {error}") from error
        finally:
            podman.clear()


if __name__ == "__main__":
    main()
