"""Options of commands that compute: where the arrays live and the kernels run."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from beatwire.cli.options import COMPUTING, GPU, flag, option
from beatwire.cli.terminal import print_message
from beatwire.errors import UserError

if TYPE_CHECKING:
    from beatwire.backends.base import Backend


class BackendKind(StrEnum):
    """Where the arrays live and the kernels run."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


Backends = Annotated[
    BackendKind,
    option(
        "--backend", "Where to compute. auto: on the GPU if there is a usable one, otherwise on the CPU.", COMPUTING
    ),
]


RecordingBackend = Annotated[
    BackendKind,
    option(
        "--backend",
        "Where to compute. auto: on the GPU if there is a usable one. Its kernels compile for half a minute "
        "at the first start, so it is worth it for weeks of signal.",
        COMPUTING,
    ),
]


GpuMemory = Annotated[
    str | None,
    option(
        "--gpu-memory SIZE",
        "Memory of each GPU for all workers that share it, for example 8GiB or 500MB.",
        GPU,
        "90 % of the free memory",
    ),
]


# The same of a command that has a configuration: None where the option is not given.
BackendOrNone = Annotated[
    BackendKind | None,
    option(
        "--backend",
        "Where to compute. auto: on the GPU if there is a usable one, otherwise on the CPU.",
        COMPUTING,
        "auto",
    ),
]


ManagedMemoryOrNone = Annotated[
    bool | None,
    flag(
        "--managed-memory",
        "Allocate managed memory, which can move to the host: for a GPU shared with other programs.",
        GPU,
        shown=False,
    ),
]


NvtxOrNone = Annotated[
    bool | None,
    flag("--nvtx", "Mark the stages with NVTX ranges for a profiler; disables CUDA graphs.", GPU, shown=False),
]


Threads = Annotated[
    int | None,
    option(
        "INTEGER",
        "Threads of each worker that compute. The output is the same for any number.",
        COMPUTING,
        "cores / workers",
        min=1,
        max=1024,
    ),
]


def with_cards(kind: BackendKind) -> bool:
    """Return True if workers may use cards: they are asked for, or the packages for them are there."""
    return kind is BackendKind.GPU or (kind is BackendKind.AUTO and find_spec("cupy") is not None)


def choose_backend(
    kind: BackendKind, gpu_memory: str | None = None, managed: bool = False, nvtx: bool = False, sharing: int = 1
) -> Backend:
    """Return the requested backend; ``sharing`` processes share a card and its ``gpu_memory``.

    Raises
    ------
    UserError
        There is no usable GPU, or a GPU option is combined with ``--backend cpu``.
    """
    from beatwire.backends.choose import choose
    from beatwire.settings import bytes_of

    gpu_options = {"--gpu-memory": gpu_memory is not None, "--managed-memory": managed, "--nvtx": nvtx}
    for name, given in gpu_options.items():
        if given and kind is BackendKind.CPU:
            raise UserError(f"{name}: expected --backend gpu or auto beside it; got --backend cpu")

    limit_bytes = None if gpu_memory is None else bytes_of(gpu_memory)
    return choose(kind.value, limit_bytes=limit_bytes, sharing=sharing, managed=managed, nvtx=nvtx)


def choose_recording_backend(kind: BackendKind, gpu_memory: str | None) -> tuple[Backend, int | None]:
    """Return the backend for a recording, and the limit of its memory in bytes; without `cpu` print the choice.

    Raises
    ------
    UserError
        As of `choose_backend`.
    """
    from beatwire.settings import bytes_of

    chosen = choose_backend(kind, gpu_memory)
    if kind is not BackendKind.CPU:
        print_message(chosen.reason)
    return chosen, bytes_of(gpu_memory) if gpu_memory and chosen.name == "gpu" else None
