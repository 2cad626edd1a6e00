"""The Dockerfile as data, and its steps run in a folder without Docker.

In: ``compose/Dockerfile`` and ``.dockerignore``. Out: the instructions of a target, from its base on; or a folder in
which its COPY and RUN instructions were executed, with the folders of the image below it. What needs the rights of
root (users, owners) is not run.
"""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from compose_files import FOLDER, ROOT

DOCKERFILE = FOLDER / "Dockerfile"
NEEDS_ROOT = ("groupadd", "useradd", "install ")
PLACES = ("/opt/", "/src", "/var/")  # folders of the image that its steps write to or read from


class Step(NamedTuple):
    """One instruction, without line continuations."""

    name: str
    text: str


def stages() -> dict[str, list[Step]]:
    """Return the instructions of each stage; the first one is FROM."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found: dict[str, list[Step]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, rest = line.split(maxsplit=1)
        if name == "FROM":
            steps: list[Step] = []
            found[rest.split()[2]] = steps
        steps.append(Step(name, re.sub(r"\s+", " ", rest)))
    return found


def chain(target: str) -> list[Step]:
    """Return the instructions of a target after those of the stages that it is based on, without FROM."""
    steps = stages()[target]
    base = steps[0].text.split()[0]
    return (chain(base) if base in stages() else []) + steps[1:]


def context() -> set[str]:
    """Return the files of the repository that the build receives."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    kept = {line.strip()[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    files = [name for name in listed.stdout.decode().splitlines() if (ROOT / name).is_file()]
    return {name for name in files if any(name == k or fnmatch.fnmatch(name, f"{k}/*") for k in kept)}


class Build:
    """The steps of stages, run below a folder.

    Parameters
    ----------
    folder
        An empty folder that the user may write to.
    prefix
        Words before each command, for instance to run it as another user.
    """

    def __init__(self, folder: Path, prefix: list[str]) -> None:
        self.folder, self._prefix = folder, prefix
        self._done: dict[str, tuple[dict[str, str], str]] = {}

    def run(self, target: str) -> None:
        """Run the stages that a target copies from, those that it is based on, and its own."""
        if target in self._done:
            return
        steps = stages()[target]
        base = steps[0].text.split()[0]
        environment: dict[str, str] = {}
        folder = "/src"
        if base in stages():
            self.run(base)
            environment, folder = dict(self._done[base][0]), self._done[base][1]
        for step in steps[1:]:
            copied = re.match(r"--from=(\S+)", step.text)
            if copied:  # the stages share one folder
                self.run(copied.group(1))
            elif step.name == "ENV":
                environment |= dict(word.split("=", 1) for word in shlex.split(step.text))
            elif step.name == "WORKDIR":
                folder = step.text
                self._made(self.place(folder))
            elif step.name == "COPY":
                self._copy(step.text, folder)
            elif step.name == "RUN":
                self.shell(step.text, environment, folder)
        self._done[target] = environment, folder

    def environment(self, target: str) -> dict[str, str]:
        """Return the environment of a target that was run."""
        return self._done[target][0]

    def place(self, path: str) -> Path:
        """Return where a path of the image is."""
        return self.folder / path.lstrip("/")

    def shell(self, command: str, environment: dict[str, str], folder: str) -> str:
        """Run a command of the image; return its output."""
        command = " && ".join(part for part in command.split(" && ") if not part.strip().startswith(NEEDS_ROOT))
        home = self.place("/var/lib/beatwire")
        for needed in ("/opt", "/var/cache/beatwire", "/var/lib/beatwire", folder):
            self._made(self.place(needed))
        given = {name: self._moved(value) for name, value in environment.items()}
        paths = f"{given.get('PATH', '').replace('$PATH', '')}{self._python()}:/usr/bin:/bin"
        done = subprocess.run(
            [*self._prefix, "/bin/sh", "-ec", self._moved(command)], cwd=self.place(folder), capture_output=True,
            text=True, check=False, env=given | {"PATH": paths, "HOME": str(home), **_network()},
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def _python(self) -> Path:
        """Return a folder with a `python` that the user may execute, in place of the image's."""
        folder = self.place("/usr/local/bin")
        if not folder.is_dir():
            folder.mkdir(parents=True)
            for python in (str(Path(sys.executable).resolve()), "/usr/bin/python3"):
                trial = ["/bin/sh", "-c", f"{python} -c 'import ensurepip'"]  # setpriv itself may execute more
                if subprocess.run([*self._prefix, *trial], capture_output=True, check=False).returncode == 0:
                    (folder / "python").symlink_to(python)
                    break
            else:
                raise AssertionError("expected a Python with ensurepip that the user may execute")
        return folder

    def _made(self, path: Path) -> Path:
        """Return a folder, created if necessary; everybody may write to it, as the user may not be this one."""
        for folder in reversed([path, *path.parents]):
            if folder.is_relative_to(self.folder) and not folder.exists():
                folder.mkdir()
                folder.chmod(0o777)
        return path

    def _moved(self, text: str) -> str:
        for place in PLACES:
            text = re.sub(rf"(?<![\w/.]){place}", f"{self.folder}{place}", text)
        return text

    def _copy(self, text: str, folder: str) -> None:
        *words, target = text.split()
        into = self.place(target if target.startswith("/") else f"{folder}/{target}")
        for word in words:
            names = context() if word == "." else {word}
            for name in names:
                is_folder = target.endswith("/") or target == "."
                to = into / (name if word == "." else Path(name).name) if is_folder else into
                self._made(to.parent)
                shutil.copy(ROOT / name, to)


def _network() -> dict[str, str]:
    """Return the variables of this machine with which pip reaches an index."""
    return {name: value for name, value in os.environ.items() if re.match(r"(?i)pip_|https?_proxy|no_proxy|ssl_", name)}
