"""The signatures of kernels that a warm-up of the graph uses; as a script it writes them to ``signatures.txt``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from beatwire.backends.cpu import CPU
from beatwire.jit import cpu, precompile
from beatwire.service.rehearsal import rehearse

HEADER = """\
# The kernels that a warm-up compiles, and the types of their flat arguments: see precompile.py.
# The longest compilation comes first. Written by: python tests/helpers/kernels/kernel_signatures.py
"""


def used_by_a_warm_up() -> dict[str, list[str]]:
    """Return the signatures of each kernel after a warm-up, without those that ``precompile`` would add."""
    rehearse(CPU)
    called = {name: kernel.dispatcher for name, kernel in vars(cpu.kernels).items()}
    return {
        name: sorted(map(precompile.as_text, dispatcher.signatures))
        for name, dispatcher in called.items()
        if dispatcher.signatures
    }


def seconds_to_compile(name: str) -> float:
    """Return the time that this process needed to compile a kernel; 0 if it loaded its machine code."""
    dispatcher = getattr(cpu.kernels, name).dispatcher
    timers = [dispatcher.get_metadata(signature).get("timers", {}) for signature in dispatcher.signatures]
    return sum(one.get("compiler_lock", 0.0) for one in timers)


def main() -> None:
    with TemporaryDirectory() as folder:
        cpu.store_in(Path(folder))
        used = used_by_a_warm_up()
        names = sorted(used, key=seconds_to_compile, reverse=True)
    lines = [f"{name} {signature}\n" for name in names for signature in used[name]]
    precompile.SIGNATURES.write_text(HEADER + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
