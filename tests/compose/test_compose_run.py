"""``make compose-test`` in the heavy suite: the containers run, restart, stop and start again, and lose nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from containers import missing


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("options", [(), ("--cluster",)], ids=["one broker", "cluster"])
def test_the_containers_run_and_lose_nothing_by_restarts(options: tuple[str, ...]) -> None:
    lacking = missing()
    if lacking:
        pytest.skip(f"compose-test: {lacking}")
    program = Path(__file__).with_name("compose_run.py")
    command = [sys.executable, str(program), *options]
    environment = os.environ | {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert "none missing, twice or different" in done.stdout
