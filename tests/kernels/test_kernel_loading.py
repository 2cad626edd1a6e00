"""Machine code that is stored is loaded without Numba's compiler, which is ready when it is needed."""

import subprocess
import sys

from beatwire.service.warmup import warm_up


def test_a_start_loads_all_kernels_without_the_compiler_and_compiles_after_it() -> None:
    warm_up(print)  # stored by now
    script = """
import sys
import numba
import numpy as np
from beatwire.jit import cpu
from beatwire.service.warmup import warm_up

warm_up(lambda _: None)
print(sum(len(kernel.dispatcher.signatures) for kernel in vars(cpu.kernels).values()) > 50)
print(sorted({"numba.np.linalg", "numba.np.polynomial.polynomial_core", "numba.typed.dictimpl"} & set(sys.modules)))
print(numba.njit(lambda x: np.sort(x)[::-1].cumsum())(np.array([1, 3, 2])))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["True", "[]", "[3 5 6]"], done.stderr
