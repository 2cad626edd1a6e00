"""Reduce an environment to what beatwire uses: no tests of packages, no clients that nobody calls.

In: the environment of this Python, whose packages were installed without bytecode. Out: the same environment, with the
bytecode of all modules that beatwire imports. A container cannot write it, and other modules do not need it.
"""

import importlib
import pkgutil
import shutil
import sys
import sysconfig
from pathlib import Path

PACKAGES = Path(sysconfig.get_path("purelib"))
# Addresses such as s3:// are read by fsspec, not by pyarrow.
UNUSED = ("**/tests/", "pyarrow/*flight*", "pyarrow/*s3*")

for pattern in UNUSED:
    for path in sorted(PACKAGES.glob(pattern)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
for name in ("beatwire", "beatwire_producers"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of an extra that the image does not have
            sys.stdout.write(f"{module.name}: {error}\n")
