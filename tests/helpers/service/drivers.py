"""A driver of the tests: compiled from C, as NVIDIA's is, it lists as many GPUs as it is built with."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = """
#include <string.h>
#include <stddef.h>
int cuInit(unsigned f) { return FAILS; }
int cuDeviceGetCount(int *n) { *n = GPUS; return 0; }
int cuDriverGetVersion(int *v) { *v = VERSION; return 0; }
int cuDeviceGet(int *d, int k) { *d = k; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, d ? "B" : "A", n); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = (size_t) 48 << 30; return 0; }
"""


def built_driver(folder: Path, gpus: int, number: int = 13000, fails: int = 0) -> str:
    """Return the path of a driver with so many GPUs, for a version of CUDA; its start ends with the code ``fails``."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = folder / "driver.c", folder / f"libcuda{gpus}{number}{fails}.so"
    source.write_text(SOURCE)
    macros = [f"-DGPUS={gpus}", f"-DVERSION={number}", f"-DFAILS={fails}"]
    subprocess.run([compiler, "-shared", "-fPIC", *macros, "-o", library, source], check=True)
    return str(library)
