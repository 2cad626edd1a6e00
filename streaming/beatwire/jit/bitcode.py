"""How functions that only kernels call are compiled: to LLVM bitcode, which is linked into each kernel and inlined.

Numba compiles each function with wrappers for Python and C, optimises it, and generates machine code. A body that is
inlined needs none of these. Without them, and with one compilation for literal and other arguments of the same type
(``switch(slots, ALERT, False)`` and ``switch(slots, rule, on)``), all kernels compile in half the time. An element of
an array is found by fewer instructions. And Numba looks for closures, expressions of arrays and functions of its own
that it would rewrite: a body has none.

Numba has no option for this: ``BitcodeCompiler`` is a compiler pipeline whose last pass differs, and
``tests/kernels/test_canary_compiler.py`` checks what it needs of Numba. A dispatcher of such a function must not be
called from Python.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from numba.core import codegen, compiler, types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.np import arrayobj

OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
WITHOUT = {
    "with_lifting",
    "inline_closure_likes",
    "inline_inlinables",
    "inline_overloads",
    "nopython_rewrites",
}  # passes


class BitcodeLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a function and of those that it calls. The kernel that links it optimises it, once for all."""

    def _optimize_functions(self, module: Any) -> None:
        """Optimise the functions of a module; Numba does so with those that it only declares, too."""
        module.data_layout = self._codegen._data_layout  # noqa: SLF001
        for function in [one for one in module.functions if not one.is_declaration]:
            passes, builder = self._codegen._function_pass_manager()  # noqa: SLF001
            passes.run(function, builder)

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
        with short_indexing():  # Numba's lock is held: no other thread compiles
            super().run_pass(state)
        state.library.finalize()
        lowered = state["cr"]
        # Numba finds a compiled function by its entry point, a builtin function. This one is unique and takes no
        # arguments: a call from Python is an error.
        entry_point = object().__dir__
        state.targetctx.insert_user_function(entry_point, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry_point)
        return True


@contextlib.contextmanager
def short_indexing() -> Iterator[None]:
    """Let Numba find an element of a contiguous array by the shape alone, in a quarter of its instructions."""
    general = arrayobj.basic_indexing

    def basic_indexing(
        context: Any, builder: Any, kind: Any, array: Any, types_of: Any, indices: Any, boundscheck: Any = None
    ) -> tuple[Any, list[Any], list[Any]]:
        whole = 0 < len(indices) == kind.ndim and all(isinstance(one, types.Integer) for one in types_of)
        if boundscheck or kind.layout != "C" or not whole:
            return general(context, builder, kind, array, types_of, indices, boundscheck)  # type: ignore[no-any-return]
        place = None
        for axis, (one, index) in enumerate(zip(types_of, indices, strict=True)):
            size = builder.extract_value(array.shape, axis)
            fixed = arrayobj.fix_integer_index(context, builder, one, index, size)
            place = fixed if place is None else builder.add(builder.mul(place, size), fixed)
        return builder.gep(array.data, [place]), [], []

    arrayobj.basic_indexing = basic_indexing
    try:
        yield
    finally:
        arrayobj.basic_indexing = general


class BitcodeCompiler(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's pipeline ``WITHOUT`` some passes, and with ``BitcodeLowering`` in the place of ``NativeLowering``."""

    def define_pipelines(self) -> list[Any]:
        """Return the pipeline."""
        pipeline = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [(one, why) for one, why in pipeline.passes if one.name() not in WITHOUT]
        pipeline.passes = [(BitcodeLowering if one is NativeLowering else one, why) for one, why in kept]
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
