"""One memory pool for all libraries that allocate on the card: RMM under CuPy, Numba and torch.

The order matters: RMM's resource first, then torch's allocator before torch uses the card, then all else. CuPy alone
allocates arrays; Numba launches kernels on them without a copy.
"""

import contextlib
import importlib.util
from typing import Any

from beatwire.errors import UserError

FREE_SHARE = 0.9  # of the free memory, for the pool: the rest is for CUDA's own contexts and graphs
FIRST_BYTES = 1 << 30  # with which the pool begins
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


def make_pool(cupy: Any, limit_bytes: int | None, managed: bool) -> tuple[int, Any]:
    """Make the pool; return its limit and RMM's resource that counts its use. Parameters as for ``CudaCard``.

    Raises
    ------
    UserError
        ``limit_bytes`` exceeds the free memory, or a library is not installed.
    """
    rmm = imported("rmm")
    rmm.set_logging_level(rmm.level_enum.off)  # ``CudaCard.empty`` reports that the pool is full
    source = rmm.mr.ManagedMemoryResource() if managed else rmm.mr.CudaMemoryResource()
    free = int(cupy.cuda.runtime.memGetInfo()[0])
    limit = int(FREE_SHARE * free) if limit_bytes is None else limit_bytes
    if limit > free:
        raise UserError(
            f"--gpu-memory: expected at most the {free / 2**30:.1f} GiB that are free; got {limit / 2**30:.1f}"
        )
    sizes = [size // STEP_BYTES * STEP_BYTES for size in (min(limit, FIRST_BYTES), limit)]
    pool = rmm.mr.PoolMemoryResource(source, initial_pool_size=sizes[0], maximum_pool_size=sizes[1])
    counted = rmm.mr.StatisticsResourceAdaptor(pool)
    rmm.mr.set_current_device_resource(counted)
    if importlib.util.find_spec("torch") is not None:  # torch is optional; where it is installed it uses the pool too
        torch, allocators = imported("torch"), imported("rmm.allocators.torch")
        with contextlib.suppress(RuntimeError):  # torch has used the card already: it keeps the allocator that it has
            torch.cuda.memory.change_current_allocator(allocators.rmm_torch_allocator)
    cupy.cuda.set_allocator(imported("rmm.allocators.cupy").rmm_cupy_allocator)
    return limit, counted
