"""Every private part of Numba that ``jit.bitcode`` and ``jit.quicker`` replace is there, in the expected shape."""

from __future__ import annotations

import gc
import inspect
import itertools
import math
import re
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from beatwire.jit import bitcode, quicker
from numba import extending
from numba.core import base, codegen, compiler, cpu, dispatcher, event, ir, targetconfig, typed_passes, types
from numba.np import arrayobj
from test_canary import check, parameters


def test_the_parts_of_numba_s_compiler_that_bitcode_replaces_are_there() -> None:
    mend = "bitcode.py"
    library = codegen.JITCodeLibrary
    for name in ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "finalize"):
        check(callable(getattr(library, name, None)), mend, f"numba.core.codegen.JITCodeLibrary.{name}")
    text = inspect.getsource(codegen.CPUCodeLibrary.finalize)
    check("self._optimize_final_module()" in text, mend, "finalize to call _optimize_final_module")
    check("self._finalize_final_module()" in text, mend, "finalize to call _finalize_final_module")
    check(parameters(library) == ["codegen", "name"], mend, "JITCodeLibrary(codegen, name)")
    lowering = typed_passes.NativeLowering
    check(parameters(lowering.run_pass) == ["self", "state"], mend, "NativeLowering.run_pass(self, state)")
    text = inspect.getsource(typed_passes.BaseNativeLowering.run_pass)
    check("if state.library is None" in text, mend, "NativeLowering to use state.library where it is set")
    check("flags.no_compile" in text, mend, "NativeLowering to make no entry point with flags.no_compile")
    check("cfunc" in compiler._LowerResult._fields, mend, "numba.core.compiler._LowerResult.cfunc")
    check(hasattr(compiler.Flags, "no_compile"), mend, "numba.core.compiler.Flags.no_compile")
    context = parameters(cpu.CPUContext.insert_user_function)
    check(context == ["self", "func", "fndesc", "libs"], mend, "CPUContext.insert_user_function(func, fndesc, libs)")
    text = inspect.getsource(compiler.DefaultPassBuilder)
    check("pm.passes" in text or "NativeLowering" in text, mend, "DefaultPassBuilder to use NativeLowering")
    call = parameters(dispatcher.Dispatcher.get_call_template)
    check(call == ["self", "args", "kws"], mend, "Dispatcher.get_call_template(args, kws)")
    check(types.unliteral(types.literal(3)) == types.int64, mend, "numba.types.unliteral")
    state = SimpleNamespace(func_ir=None, flags=compiler.Flags())
    passes = {one.name() for one, _ in compiler.DefaultPassBuilder.define_nopython_pipeline(state).passes}
    check(passes > bitcode.WITHOUT, mend, "the passes that bodies do not need")
    check(
        "_optimize_functions(" in inspect.getsource(codegen.CPUCodeLibrary), mend, "CPUCodeLibrary._optimize_functions"
    )
    for name in ("_data_layout", "_function_pass_manager()"):
        check(name in inspect.getsource(library._optimize_functions), mend, f"CPUCodegen.{name}")


def test_the_parts_of_numba_that_compile_indices_are_there() -> None:
    mend = "bitcode.py"
    expected = ["context", "builder", "aryty", "ary", "index_types", "indices", "boundscheck"]
    check(parameters(arrayobj.basic_indexing) == expected, mend, f"arrayobj.basic_indexing({', '.join(expected)})")
    for function in (arrayobj._getitem_array_generic, arrayobj.setitem_array):
        check("basic_indexing(" in inspect.getsource(function), mend, f"{function.__name__} to call basic_indexing")
    expected = ["context", "builder", "idxty", "idx", "size"]
    check(
        parameters(arrayobj.fix_integer_index) == expected, mend, f"arrayobj.fix_integer_index({', '.join(expected)})"
    )


def test_elements_rows_and_slices_of_arrays_are_those_of_python() -> None:
    def mixed(cube, grid, row, i, j, k):  # type: ignore[no-untyped-def]
        row[j] = cube[i, j, k] + grid[i][j] + grid[i, k]
        part, rest = row[i : j + 100], grid[j, abs(k) :]
        rest[1] = len(part) + cube[j][k, i]
        return part[1] + rest[0] + len(rest)

    def arrays() -> list[Any]:
        rng = np.random.default_rng(3)
        return [rng.integers(0, 99, shape) for shape in ((4, 5, 6), (5, 6), 7)]

    given = bitcode.OPTIONS | {"error_model": "numpy", "_nrt": False}
    body = bitcode.without_literals(numba.njit(mixed, **given, pipeline_class=bitcode.BitcodeCompiler))
    compiled = numba.njit(lambda cube, grid, row, i, j, k: body(cube, grid, row, i, j, k))
    usual, found = arrays(), arrays()
    for i, j, k in itertools.product(range(4), range(3), range(-3, 3)):
        check(compiled(*found, i, j, k) == mixed(*usual, i, j, k), "bitcode.py", "the elements of Python")
    check(all(map(np.array_equal, found, usual)), "bitcode.py", "the elements of Python")


def test_functions_that_kernels_call_have_no_machine_code_and_are_compiled_once_for_literals() -> None:
    added = bitcode.without_literals(
        numba.njit(lambda a, b: a + b, **bitcode.OPTIONS, pipeline_class=bitcode.BitcodeCompiler)
    )
    summed = numba.njit(lambda n: added(n, 3) + added(n, n))
    check(summed(4) == 15, "bitcode.py", "4 + 3 + 4 + 4")
    check(
        added.signatures == [(types.int64, types.int64)], "bitcode.py", "one compilation for a literal and a variable"
    )
    library = added.overloads[types.int64, types.int64].library
    check(isinstance(library, bitcode.BitcodeLibrary), "bitcode.py", "NativeLowering to be replaced in the pipeline")
    check(not hasattr(library, "_compiled_object"), "bitcode.py", "no machine code")


def test_machine_code_is_the_same_where_numba_remembers_what_it_resolves() -> None:
    for owner, name, given in (
        (types.BaseFunction, "get_call_type", ["self", "context", "args", "kws"]),
        (ir.Inst, "_rec_list_vars", ["self", "val"]),
        (targetconfig.TargetConfig, "values", ["self"]),
        (base.BaseContext, "get_abi_sizeof", ["self", "ty"]),
    ):
        check(parameters(vars(owner)[name]) == given, "quicker.py", f"{owner.__name__}.{name}")
    for name in ("start_event", "end_event"):
        check("broadcast(" in inspect.getsource(vars(event)[name]), "quicker.py", f"numba.core.event.{name}")
    check(isinstance(event._registered, dict), "quicker.py", "the listeners in numba.core.event._registered")
    flags = compiler.Flags()
    check(hash(flags) == quicker.hashed(flags), "quicker.py", "the hash of TargetConfig")
    before = vars(ir.Inst)["_rec_list_vars"]

    def machine_code() -> str:
        def mixed(row: Any, n: int, share: float) -> float:
            total = 0.0
            for k in range(min(n, len(row))):
                total += row[k] * share if row[k] > k and k % 3 else abs(row[k] // (n + 1)) + math.sqrt(k)
            return total

        dispatcher = numba.njit(mixed, error_model="numpy")
        dispatcher.compile((types.Array(types.int16, 1, "C"), types.int64, types.float64))
        (text,) = dispatcher.inspect_asm().values()
        numbers = r"mixedB\d+B\d*v\d+|mixed_\d+|(?:B\d+)?v\d+B\d+|0x[0-9a-f]+|\bquad\s+-?\d+"
        return re.sub(rf'{numbers}|(?<="), \d+$', "", text, flags=re.MULTILINE)  # the last: lengths of symbols

    usual = machine_code()
    for _ in range(2):  # what was resolved, and what is remembered
        with quicker.quicker():
            check(machine_code() == usual, "quicker.py", "the same machine code")
    check(vars(ir.Inst)["_rec_list_vars"] is before, "quicker.py", "Numba as it was, after it")


def test_what_others_declare_while_kernels_are_compiled_is_found() -> None:
    def doubled(number: int) -> int:
        def twice(number: int) -> int:
            raise NotImplementedError

        @extending.overload(twice)
        def declared(number: Any) -> Any:
            def body(number: Any) -> Any:
                return 2 * number

            return body

        return numba.njit(lambda n: twice(n))(number)  # type: ignore[no-any-return]

    with quicker.quicker():
        for k in range(3):
            check(doubled(k) == 2 * k, "quicker.py", "a function that was declared since")
            gc.collect()


@pytest.mark.parametrize("threshold", [(0, 10, 10), (700, 10, 10), (500_000, 10, 10)])
def test_numba_and_the_collector_are_as_they_were_when_the_last_of_several_threads_has_compiled(
    threshold: tuple[int, int, int],
) -> None:
    def state() -> tuple[Any, ...]:
        return vars(types.BaseFunction)["get_call_type"], vars(ir.Inst)["_rec_list_vars"], gc.get_threshold()

    before = gc.get_threshold()
    gc.set_threshold(*threshold)
    try:
        usual, first, second = state(), quicker.quicker(), quicker.quicker()
        first.__enter__()
        replaced = state()
        second.__enter__()
        first.__exit__(None, None, None)  # the one that began first ends first
        check(state() == replaced, "quicker.py", "what is replaced to stay while another thread compiles")
        second.__exit__(None, None, None)
        check(state() == usual, "quicker.py", "all as it was")
        expected = threshold[0] and max(100_000, threshold[0])
        check(replaced[-1][0] == expected, "quicker.py", "a collector that is off to stay off")
    finally:
        gc.set_threshold(*before)
