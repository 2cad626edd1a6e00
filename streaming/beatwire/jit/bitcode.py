"""How functions that only kernels call are compiled: to LLVM bitcode, which is linked into each kernel and inlined.

Numba compiles each function with wrappers for Python and C, optimises it, and generates machine code. A body that is
inlined needs none of these. Without them, and with one compilation for literal and other arguments of the same type
(``switch(slots, ALERT, False)`` and ``switch(slots, rule, on)``), all kernels compile in half the time.

Numba has no option for this: ``BitcodeCompiler`` is a compiler pipeline whose last pass differs, and
``tests/kernels/test_canary.py`` checks what it needs of Numba. A dispatcher of such a function must not be called from
Python.
"""

from typing import Any

from numba.core import codegen, compiler, types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class BitcodeLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a function and of those that it calls. The kernel that links it optimises it, once for all."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class BitcodeLowering(NativeLowering):  # type: ignore[misc]
    """Numba's lowering into a ``BitcodeLibrary``."""

    _name = "bitcode_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower one function."""
        state.library = BitcodeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        lowered = state["cr"]
        # Numba finds a compiled function by its entry point, a builtin function. This one is unique and takes no
        # arguments: a call from Python is an error.
        entry_point = object().__dir__
        state.targetctx.insert_user_function(entry_point, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry_point)
        return True


class BitcodeCompiler(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's pipeline with ``BitcodeLowering`` in the place of ``NativeLowering``."""

    def define_pipelines(self) -> list[Any]:
        """Return the pipeline."""
        pipeline = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(BitcodeLowering if one is NativeLowering else one, why) for one, why in pipeline.passes]
        pipeline.finalize()
        return [pipeline]


def without_literals(dispatcher: Any) -> Any:
    """Let a dispatcher compile ``f(3)`` and ``f(n)`` once, as calls with an integer; return it."""
    template_of = dispatcher.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        plain = tuple(map(types.unliteral, arguments))
        return template_of(plain, {name: types.unliteral(kind) for name, kind in keywords.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher
