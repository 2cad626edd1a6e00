"""Every private part of Numba, llvmlite and numba-cuda that ``jit`` calls or replaces is there, in the expected shape.

A failure names the file to mend. No GPU is needed: numba-cuda is imported, and nothing is compiled for a device.
"""

import ast
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from beatwire.backends.cuda import card
from beatwire.jit import bitcode, locator
from beatwire.jit.cuda import numba_patches
from beatwire.jit.x86 import pair_filter, shuffle
from numba.core import caching, cgutils, compiler, config, cpu, types
from numba.np import arrayobj

NUMBA_CUDA = importlib.util.find_spec("_numba_cuda_redirector") is not None
needs_numba_cuda = pytest.mark.skipif(not NUMBA_CUDA, reason="numba-cuda is not installed (extra dev or gpu, on Linux)")


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def check(present: object, mend: str, expected: str) -> None:
    assert present, f"mend streaming/beatwire/jit/{mend}: expected {expected}"


@pytest.mark.parametrize(
    "name", ["_nrt", "forceinline", "error_model", "fastmath", "nogil", "parallel", *bitcode.OPTIONS]
)
def test_an_option_of_numba_s_compiler_exists(name: str) -> None:
    check(hasattr(cpu.CPUTargetOptions, name), "cpu.py and bitcode.py", f"the option {name} of numba.njit")


@pytest.mark.parametrize("name", ["CACHE_DIR", "CACHE_LOCATOR_CLASSES", "CPU_NAME", "CPU_FEATURES", "ENABLE_CUDASIM"])
def test_a_setting_of_numba_exists(name: str) -> None:
    check(hasattr(config, name), "cpu.py, precompile.py, x86/llvm.py or cuda/team.py", f"numba.core.config.{name}")


def test_stored_machine_code_is_loaded_by_what_loads_it_and_a_compilation_makes_the_compiler_ready() -> None:
    text = inspect.getsource(caching.Cache.load_overload)
    for part in (
        "target_context.refresh()",
        "._guard_against_spurious_io_errors()",
        "._load_overload(sig, target_cont",
    ):
        check(part in text, "loading.py", f"{part} in Cache.load_overload")
    check(parameters(caching.Cache.load_overload) == ["self", "sig", "target_context"], "loading.py", "its parameters")
    check("targetctx.refresh()" in inspect.getsource(compiler.CompilerBase), "loading.py", "CompilerBase to refresh it")


def test_a_dispatcher_reads_the_folder_of_machine_code_when_it_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(config, "CACHE_LOCATOR_CLASSES", locator.CLASS)
    stored = numba.njit(lambda n: n + 1, cache=True)
    monkeypatch.undo()
    check(str(tmp_path) in stored.stats.cache_path, "cpu.py (_stored)", "config.CACHE_DIR to be read by numba.njit")
    check("numba-" in stored.stats.cache_path, "locator.py", "config.CACHE_LOCATOR_CLASSES to be read by numba.njit")


def test_a_dispatcher_lists_its_signatures_and_compiles_one_of_them() -> None:
    added = numba.njit(lambda n, *rows: n + rows[0][0])
    signature = types.int64, types.Tuple((types.Array(types.int64, 1, "C"), types.float64))
    added.compile(signature)
    check(
        added.signatures == [signature], "precompile.py", "the signature that was compiled, with *arguments as a tuple"
    )
    check(added(1, np.array([2]), 0.5) == 3, "precompile.py", "a call of it")
    check(added.signatures == [signature], "precompile.py", "no other signature after a call with these types")


def test_the_parts_of_numba_that_build_vector_code_are_there() -> None:
    mend = "x86/*.py"
    expected = {
        cgutils.alloca_once: ["builder", "ty", "size"],
        cgutils.alloca_once_value: ["builder", "value"],
        cgutils.for_range: ["builder", "count"],
        cgutils.for_range_slice: ["builder", "start", "stop", "step"],
        cgutils.get_or_insert_function: ["module", "fnty", "name"],
    }
    for function, names in expected.items():
        check(
            parameters(function)[: len(names)] == names, mend, f"cgutils.{function.__name__}({', '.join(names)}, ...)"
        )
    check(parameters(arrayobj.make_array) == ["array_type"], mend, "numba.np.arrayobj.make_array(array_type)")
    fields = set(numba.core.datamodel.default_manager[types.int64[::1]]._fields)
    check({"data", "shape"} <= fields, mend, "an array's struct with the fields data and shape")


@pytest.mark.parametrize(
    ("intrinsic", "declaration", "instruction", "mend"),
    [
        (pair_filter.MULTIPLY_PAIRS[8], "<8 x i32> @{}(<16 x i16>, <16 x i16>)", "vpmaddwd", "x86/pair_filter.py"),
        (
            pair_filter.MULTIPLY_PAIRS[16],
            "<16 x i32> @{}(<32 x i16>, <32 x i16>)",
            "vpmaddwd\t%zmm1",
            "x86/pair_filter.py",
        ),
        (shuffle.PERMUTE, "<8 x float> @{}(<8 x float>, <8 x i32>)", "vpermps", "x86/shuffle.py"),
        (shuffle.GATHER, "<8 x i32> @{}(<8 x i32>, i8*, <8 x i32>, <8 x i32>, i8)", "vpgatherdd", "x86/shuffle.py"),
        ("llvm.prefetch.p0", "void @{}(i8*, i32, i32, i32)", "prefetcht0", "x86/prefetch.py"),
    ],
)
def test_llvm_makes_one_instruction_of_an_intrinsic(
    intrinsic: str, declaration: str, instruction: str, mend: str
) -> None:
    check(instruction in assembly(intrinsic, declaration), mend, f"{instruction} from {intrinsic}")


@functools.cache
def x86(cpu: str) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu=cpu, opt=2)


def assembly(intrinsic: str, declaration: str) -> str:
    """The machine code of a function that calls an intrinsic with its own arguments."""
    result, _, kinds = declaration.partition(" @{}(")
    given = [f"{kind} %a{k}" for k, kind in enumerate(split(kinds.rstrip(")")))]
    if "prefetch" in intrinsic:
        given[1:] = ["i32 0", "i32 3", "i32 1"]  # these are constants
    elif "gather" in intrinsic:
        given[-1] = "i8 4"
    named = ", ".join(one for one in given if "%" in one)
    call = f"call {result} @{intrinsic}({', '.join(given)})"
    body = f"{call}\nret void" if result == "void" else f"%r = {call}\nret {result} %r"
    text = f"declare {declaration.format(intrinsic)}\ndefine {result} @f({named}) {{\n{body}\n}}"
    wide = "avx512" in intrinsic
    return str(x86("skylake-avx512" if wide else "haswell").emit_assembly(llvm.parse_assembly(text)))


def split(kinds: str) -> list[str]:
    """The types of a list: commas stand between them only."""
    return [kind.strip() for kind in kinds.split(",")]


@needs_numba_cuda
def test_the_parts_of_numba_cuda_that_are_replaced_are_there() -> None:
    mend = "cuda/numba_patches.py"
    slicing: Any = importlib.import_module("numba.cuda.cpython.slicing")
    check(parameters(slicing.fix_index) == ["builder", "idx", "size"], mend, "slicing.fix_index(builder, idx, size)")
    check(
        parameters(slicing.fix_slice) == ["builder", "slice", "size"], mend, "slicing.fix_slice(builder, slice, size)"
    )
    cells = numba_patches.range_steps()
    check(len(cells) == 3, mend, "the steps of three ranges in numba.cuda.cpython.rangeobj: int32, int64, uint64")
    for cell in cells:
        names = parameters(cell.cell_contents)
        check(names == ["self", "context", "builder", "result"], mend, "iternext(self, context, builder, result)")
        text = inspect.getsource(cell.cell_contents)
        check("self.iter" in text and "self.count" in text, mend, "a range with the fields iter and count")
    settings: Any = importlib.import_module("numba.cuda.core.config")
    check(hasattr(settings, "CACHE_DIR"), mend, "numba.cuda.core.config.CACHE_DIR")
    made: Any = importlib.import_module("numba.cuda.dispatcher").CUDADispatcher
    check(parameters(made.compile) == ["self", "sig"], mend, "CUDADispatcher.compile(sig)")
    check("_cache" in inspect.getsource(made.enable_caching), mend, "CUDADispatcher.enable_caching to set _cache")
    caching: Any = importlib.import_module("numba.cuda.core.caching")
    save = parameters(caching.Cache.save_overload)
    check(save == ["self", "sig", "data"], mend, "numba.cuda.core.caching.Cache.save_overload(sig, data)")
    library: Any = importlib.import_module("numba.cuda.codegen").CUDACodeLibrary
    check("_linking_files" in inspect.getsource(library), mend, "CUDACodeLibrary._linking_files")
    check(isinstance(library.modules, property), mend, "the property CUDACodeLibrary.modules")
    check("self.modules" in inspect.getsource(library.llvm_strs.fget), mend, "CUDACodeLibrary.llvm_strs of its modules")
    kernel: Any = importlib.import_module("numba.cuda.dispatcher")._Kernel
    check("_codelibrary" in inspect.getsource(kernel), mend, "numba.cuda.dispatcher._Kernel._codelibrary")


@needs_numba_cuda
def test_the_parts_of_numba_cuda_that_the_card_calls_are_there() -> None:
    mend = f"../{card.__name__.removeprefix('beatwire.').replace('.', '/')}.py"
    cuda: Any = importlib.import_module("numba.cuda")
    check(parameters(cuda.external_stream) == ["ptr"], mend, "numba.cuda.external_stream(ptr)")
    check("sync" in parameters(cuda.as_cuda_array), mend, "numba.cuda.as_cuda_array(array, sync)")
    settings: Any = importlib.import_module("numba.cuda.dispatcher").config
    check(hasattr(settings, "CUDA_LOW_OCCUPANCY_WARNINGS"), mend, "config.CUDA_LOW_OCCUPANCY_WARNINGS")
    mend, made = "cuda/launchers.py", importlib.import_module("numba.cuda.dispatcher")._Kernel
    for name in ("device", "max_registers", "forceinline"):
        check(name in inspect.getsource(made.__init__) + inspect.getsource(cuda.jit), mend, f"cuda.jit({name}=...)")
    for name in ("syncthreads", "syncwarp", "shfl_xor_sync", "laneid", "shared", "grid", "gridsize"):
        check(hasattr(cuda, name), "cuda/team.py, cuda/scan.py and cuda/templates.py", f"numba.cuda.{name}")


def test_the_simulator_has_what_stands_for_a_team_and_what_the_tests_replace() -> None:
    kernel: Any = importlib.import_module("numba.cuda.simulator.kernel")
    check(callable(kernel._get_kernel_context), "cuda/team.py", "simulator.kernel._get_kernel_context()")
    # From the text: other tests of this process may have replaced the class.
    (manager,) = (n for n in ast.parse(inspect.getsource(kernel)).body if getattr(n, "name", "") == "BlockManager")
    (made,) = (n for n in manager.body if getattr(n, "name", "") == "__init__")
    names = [argument.arg for argument in made.args.args]
    mend, kernelapi = "../../../tests/in_turn.py", importlib.import_module("numba.cuda.simulator.kernelapi")
    check(names == ["self", "f", "grid_dim", "block_dim", "debug"], mend,
          "simulator.kernel.BlockManager(f, grid_dim, block_dim, debug)")  # fmt: skip
    text = inspect.getsource(kernel)
    check("FakeWithinKernelCUDAArray(ret)" in text, mend, "simulator.kernel.FakeWithinKernelCUDAArray")
    check("self._device" in text, mend, "simulator.kernel.FakeCUDAKernel._device")
    check("self._allocations" in inspect.getsource(kernelapi), mend, "simulator.kernelapi.FakeCUDAShared._allocations")
    check("threading.current_thread()" in inspect.getsource(kernelapi), mend, "simulator.kernelapi.threading")
