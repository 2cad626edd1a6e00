"""The optimisations of ``jit`` that can be switched off, by name.

``BEATWIRE_DISABLE=prefetch,shuffle`` switches two of them off, ``BEATWIRE_DISABLE=all`` all of them. Beats, alerts and
samples are equal with and without each; scores are equal to 1e-4 (``vector`` adds float32 numbers in another order),
few of them to 1e-2: a latent on a border of 1/512 may be stored as its neighbour.
The names are part of the key of the cache folder, so that no process loads machine code of other switches.
"""

import os

from beatwire.errors import UserError

VARIABLE = "BEATWIRE_DISABLE"
TRICKS = {
    "vector": "vector instructions in place of loops that no compiler vectorises (jit/x86/vector.py)",
    "shuffle": "permutations and gathers of vectors in place of scattered loads (jit/x86/shuffle.py)",
    "prefetch": "prefetches of the memory of the next item (jit/x86/prefetch.py)",
    "lean": "no reference counts, every call inlined (jit/cpu.py)",
    "bitcode": "functions that only kernels call are compiled to LLVM bitcode, not to machine code (jit/bitcode.py)",
    "cuda-patches": "plain indices and ranges in CUDA kernels, their machine code stored (jit/cuda/numba_patches.py)",
}


def disabled() -> frozenset[str]:
    """Return the names of the tricks that are switched off.

    Raises
    ------
    UserError
        The environment variable has a name that is not in ``TRICKS``.
    """
    names = frozenset(filter(None, (part.strip() for part in os.environ.get(VARIABLE, "").split(","))))
    unknown = names - TRICKS.keys() - {"all"}
    if unknown:
        raise UserError(
            f"{VARIABLE}: expected all, or names among {', '.join(TRICKS)}; got {', '.join(sorted(unknown))}"
        )
    return frozenset(TRICKS) if "all" in names else names


def enabled(name: str) -> bool:
    """Return True unless a trick is switched off."""
    return name not in disabled()
