"""What make leaves in the background is what the demo needs; it goes on, and ends with Ctrl-C."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from beatwire.jit import precompile
from beatwire.service import warmup
from moments import wait_until

ROOT = Path(__file__).parents[2]
MODULE = """
import time
from pathlib import Path

here = Path(__file__)
try:
    here.with_suffix(".begun").touch()
    time.sleep(20)
except KeyboardInterrupt:
    here.with_suffix(".interrupted").touch()
"""


FETCHES = """
from jgo.maven import PythonResolver
PythonResolver.download = lambda *_: works()
"""
COMPILES = """
from beatwire import locks, signals
def locked(_):
    with signals.deferred():  # as while a kernel is compiled
        works()
locks.locked = locked
"""


def test_what_begins_while_pip_installs_goes_on_after_it_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    modules = [tmp_path / "streaming" / "beatwire" / name for name in ("jit/precompile.py", "kafka/local/jvm.py")]
    for module in modules:
        module.parent.mkdir(parents=True)
        module.write_text(MODULE)
        for folder in module.relative_to(tmp_path / "streaming").parents[:-1]:
            (tmp_path / "streaming" / folder / "__init__.py").touch()
    (tmp_path / "ahead.mk").write_text(f"include {ROOT}/Makefile\nahead:\n\t@$(AHEAD)\n")
    command = [make, "-f", "ahead.mk", "ahead", f"BIN={Path(sys.executable).parent}"]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as process:  # as a terminal's own group
        assert process.wait(20) == 0
    try:
        wait_until(lambda: all(module.with_suffix(".begun").exists() for module in modules))
        time.sleep(0.2)
        assert not any(module.with_suffix(".interrupted").exists() for module in modules)
        os.killpg(process.pid, signal.SIGINT)
        wait_until(lambda: all(module.with_suffix(".interrupted").exists() for module in modules), 10.0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("module", "busy"), [("beatwire.kafka.local.jvm", FETCHES), ("beatwire.jit.precompile", COMPILES)]
)
def test_what_make_leaves_in_the_background_does_not_end_its_work_first(tmp_path: Path, module: str, busy: str) -> None:
    if busy == FETCHES:
        pytest.importorskip("jgo.maven", reason="needs jgo (pip install 'beatwire[broker]')")
    script = f"""
import os, runpy, signal, time
def works():
    os.write(1, b"works ")
    time.sleep(30)
{busy}
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for what it starts in the background
runpy.run_module({module!r}, run_name="__main__")
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "M2_REPO": str(tmp_path), "BEATWIRE_KAFKA_JARS": ""}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.read(6) == b"works "
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == -signal.SIGINT
        finally:
            process.kill()


def test_what_make_compiles_while_pip_installs_is_what_the_demo_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[list[str]] = []
    for module in (precompile, warmup):
        monkeypatch.setattr(module, "precompile", lambda names, _: compiled.append(names))
    before = signal.getsignal(signal.SIGINT)
    try:
        precompile._compile_all()
    finally:
        signal.signal(signal.SIGINT, before)
    warmup.compile_kernels(str)
    assert compiled[0] == compiled[1] != []
