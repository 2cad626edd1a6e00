"""The signatures of kernels that a warm-up of the graph uses; as a script it writes them to ``signatures.txt``."""

from __future__ import annotations

from beatwire.backends.cpu import CPU
from beatwire.jit import cpu, precompile
from beatwire.service import warmup

HEADER = """\
# The kernels that a warm-up compiles, and the types of their flat arguments: see precompile.py.
# The longest compilation comes first. Written by: python tests/helpers/kernels/kernel_signatures.py
"""


def used_by_a_warm_up() -> dict[str, list[str]]:
    """Return the signatures of each kernel after a warm-up, without those that ``precompile`` would add."""
    warmup._rehearse(CPU)
    called = {name: kernel.dispatcher for name, kernel in vars(cpu.kernels).items()}
    return {
        name: sorted(map(precompile.as_text, dispatcher.signatures))
        for name, dispatcher in called.items()
        if dispatcher.signatures
    }


def main() -> None:
    used = used_by_a_warm_up()
    order = [name for name in precompile.table() if name in used]
    names = [*(name for name in used if name not in order), *order]
    lines = [f"{name} {signature}\n" for name in names for signature in used[name]]
    precompile.SIGNATURES.write_text(HEADER + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
