"""Podman with a store of its own, podman-compose on it, and the images of others that cannot be pulled: stand-ins.

In: a folder that is kept between runs, and the compose files. Out: images under the names that the compose files have.
The machine's own images, containers and settings are not touched; its network is, by the ports that are published.
"""

import os
import re
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jgo
from beatwire.kafka.local.jvm import KAFKA, find_jars
from compose_files import FOLDER, merged
from dockerfile import stages

STAND_INS = Path(__file__).with_name("stand_ins")
LEFT_OUT = ("grafana",)
NEEDED = ("podman", "debootstrap", "iptables", "podman-compose")
PACKAGES = "podman runc netavark aardvark-dns iptables catatonit debootstrap"  # of Debian
TOKEN = "a-token-of-24-characters"  # of the page of this run, which no other machine reaches
NOISE = re.compile(r"^.*(systemd connection|connect to syslog|Ignore --wait).*\n?", re.MULTILINE)
_LOCAL = "docker.io/"  # where podman looks for a name without a registry


def missing() -> str | None:
    """Return why the containers cannot run on this machine, or None."""
    if os.geteuid():
        return "expected root: debootstrap makes the base image"
    lacking = [name for name in NEEDED if found(name) is None]
    return f"expected {', '.join(lacking)} on PATH (apt-get install {PACKAGES}; make dev)" if lacking else None


def found(name: str) -> str | None:
    """Return the path of a program, of this Python's environment or of the machine."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


class Podman:
    """Podman on the store of a folder.

    Parameters
    ----------
    folder
        For images, containers and volumes: 4 GB.
    files
        The compose files.
    driver
        Of the store: ``overlay``, or ``vfs`` where the file system has none.
    """

    def __init__(self, folder: Path, files: list[Path], driver: str) -> None:
        self.folder, self._files = folder, files
        folder.mkdir(parents=True, exist_ok=True)
        services = merged(*files)
        self.services = {name: s for name, s in services.items() if name not in LEFT_OUT and "profiles" not in s}
        ulimits = [f"{name}={_limit(name, most)}" for name, most in (("nofile", 20000), ("nproc", 4096))]
        runtime = "runc" if shutil.which("runc") else "crun"
        (folder / "containers.conf").write_text(
            f"[containers]\ndefault_ulimits = {ulimits}\n"
            f'[engine]\ncgroup_manager = "cgroupfs"\nruntime = "{runtime}"\nevents_logger = "file"\n'
            f'[network]\nnetwork_backend = "netavark"\nnetwork_config_dir = "{folder / "networks"}"\n'
        )
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "{driver}"\ngraphroot = "{folder / "store"}"\nrunroot = "{folder / "run"}"\n'
        )
        self._environment = os.environ | {
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            "BEATWIRE_TOKEN": TOKEN,
        }

    def __call__(self, *words: str, check: bool = True) -> str:
        """Run podman; return what it printed on both outputs. A failure raises `SystemExit` with it."""
        return self._run(["podman", *words], check=check)

    def compose(self, *words: str) -> str:
        """Run podman-compose with the compose files."""
        files = [word for file in self._files for word in ("--file", str(file))]
        return self._run([str(found("podman-compose")), "--in-pod", "false", *files, *words])

    def ok(self, *words: str) -> bool:
        """Return True if podman ends without an error."""
        done = subprocess.run(["podman", *words], env=self._environment, capture_output=True, check=False)
        return done.returncode == 0

    def inspect(self, name: str, template: str) -> str:
        """Return what a template in Go makes of a container or image."""
        return self("inspect", "--format", template, name).strip()

    def clear(self) -> None:
        """Remove what an interrupted run has left, except images."""
        self("rm", "--all", "--force", "--time=0")
        for kind in ("volume", "network"):
            self(kind, "prune", "--force")

    def build(self, image: str, *words: str) -> None:
        """Build an image as the network and the isolation of this machine allow."""
        self("build", "--layers", "--isolation=chroot", "--network=host", "--tag", image, *words)

    def make_stand_ins(self) -> list[str]:
        """Make the images that are not in the store; return what stands for what, a line each."""
        base = stages()["base"][0].text.split()[0]
        suite = base.rpartition("-")[2]
        images = {name: self.services[name]["image"] for name in ("kafka", "prometheus")}
        if not self.ok("image", "exists", _LOCAL + f"library/{base}"):
            self._import_debian(suite, f"{_LOCAL}library/{base}")
        for name, image in images.items():
            with tempfile.TemporaryDirectory() as scratch:
                context = Path(scratch) / name
                shutil.copytree(STAND_INS / name, context)
                if name == "kafka":
                    shutil.copytree(self._jars(), context / "jars")
                self.build(_LOCAL + image, f"--build-arg=BASE={_LOCAL}library/{base}", str(context))
        python = self("run", "--rm", "--network=none", f"{_LOCAL}library/{base}", "python", "--version").split()[-1]
        return [
            f"{base}: Debian {suite} by debootstrap, Python {python}",
            f"{images['kafka']}: its jars from Maven Central, Debian's Java; start and variables by its own class",
            f"{images['prometheus']}: Debian's package",
            f"left out: {', '.join(LEFT_OUT)}",
        ]

    def _import_debian(self, suite: str, image: str) -> None:
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            root = Path(scratch) / "root"
            include = "--include=python3,python3-venv,ca-certificates"
            self._run(["debootstrap", "--variant=minbase", include, suite, str(root)])
            for unused in ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt"):
                shutil.rmtree(root / unused)  # a slim image has none of them
            (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
            trusted = ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
            shutil.copy(trusted, root / "etc/ssl/certs/ca-certificates.crt")  # a proxy's as well
            packed = str(Path(scratch) / "root.tar")
            self._run(["tar", "-C", str(root), "-cf", packed, "."])
            self("import", packed, image)

    def _jars(self) -> Path:
        """Return a folder of Kafka's jars and those of its tools, with which the health check asks."""
        jars = self.folder / f"kafka-{KAFKA}"
        if not jars.is_dir():
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                complete = Path(shutil.copytree(find_jars(), Path(scratch) / "jars"))
                tools: Any = jgo.build(f"org.apache.kafka:kafka-tools:{KAFKA}", cache_dir=Path(scratch) / "jgo")
                for jar in tools.all_jars:
                    shutil.copy(jar, complete)
                complete.rename(jars)
        return jars

    def _run(self, words: list[str], *, check: bool = True) -> str:
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, check=False, cwd=FOLDER)
        text = NOISE.sub("", done.stdout + done.stderr)
        if check and done.returncode:
            raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{text[-4000:]}")
        return text


def _limit(name: str, most: int) -> str:
    """Return the soft and hard limit of a container: podman's own are above those of some machines."""
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    least = most if hard == resource.RLIM_INFINITY else min(hard, most)
    return f"{least}:{least}"
