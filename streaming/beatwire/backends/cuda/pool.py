"""One memory pool for all libraries that allocate on the card: RMM under CuPy, Numba and torch.

The order matters: RMM's resource first, then torch's allocator before torch uses the card, then all else. CuPy alone
allocates arrays; Numba launches kernels on them without a copy.
"""

import contextlib
import importlib.util
from typing import Any

from beatwire.errors import UserError

SHARE = 0.9  # of the memory, for the pools: the rest is for CUDA's own contexts and graphs
FIRST_BYTES = 1 << 30  # with which the pool begins; it doubles when it is full
STEP_BYTES = 256  # sizes of a pool are multiples of it


def imported(name: str) -> Any:
    """Import a library of the extra ``gpu``.

    Raises
    ------
    UserError
        It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(f"{error} (pip install 'beatwire[gpu]')") from None


def make_pool(cupy: Any, limit_bytes: int | None, sharing: int, managed: bool) -> tuple[int, Any]:
    """Make the pool; return its limit and RMM's resource that counts its use. Parameters as for ``CudaCard``.

    Raises
    ------
    UserError
        The share of ``limit_bytes`` exceeds the free memory, or a library is not installed.
    """
    rmm = imported("rmm")
    rmm.set_logging_level(rmm.level_enum.off)  # ``CudaCard.empty`` reports that the pool is full
    source = rmm.mr.ManagedMemoryResource() if managed else rmm.mr.CudaMemoryResource()
    free, whole = map(int, cupy.cuda.runtime.memGetInfo())
    limit = share_of(free, whole, sharing) if limit_bytes is None else limit_bytes // sharing
    for wanted, there, what in ((limit_bytes or 0, whole, "of the card"), (limit, free, "that are free")):
        if wanted > there:
            raise UserError(
                f"--gpu-memory: expected at most the {there / 2**30:.1f} GiB {what}; got {wanted / 2**30:.1f}"
            )
    first, most = (size // STEP_BYTES * STEP_BYTES for size in (min(limit, FIRST_BYTES), limit))
    # The limit is below the pool: with one of its own the pool would grow by half of it, which others may need.
    pool = rmm.mr.PoolMemoryResource(rmm.mr.LimitingResourceAdaptor(source, most), initial_pool_size=first)
    counted = rmm.mr.StatisticsResourceAdaptor(pool)
    rmm.mr.set_current_device_resource(counted)
    if importlib.util.find_spec("torch") is not None:  # torch is optional; where it is installed it uses the pool too
        torch, allocators = imported("torch"), imported("rmm.allocators.torch")
        with contextlib.suppress(RuntimeError):  # torch has used the card already: it keeps the allocator that it has
            torch.cuda.memory.change_current_allocator(allocators.rmm_torch_allocator)
    cupy.cuda.set_allocator(imported("rmm.allocators.cupy").rmm_cupy_allocator)
    return limit, counted


def share_of(free_bytes: int, whole_bytes: int, sharing: int) -> int:
    """Return the limit of one of the processes that share a card.

    A single one may have what is free. Of several, others may have had their share already.

    >>> share_of(80, 100, 1), share_of(90, 100, 3), share_of(20, 100, 3)
    (72, 30, 18)
    """
    free = int(SHARE * free_bytes)
    return free if sharing == 1 else min(free, int(SHARE * whole_bytes / sharing))
