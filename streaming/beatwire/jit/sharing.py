"""The loop over the items of a kernel as machine code that threads find by its address, with arguments in memory.

A call stores its arguments at a place: on the stack, or, where helpers take part, in the room of the board. Each
helper has scratch of its own behind them.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.board import ROOM

OF_ARGUMENTS = 16_384  # bytes of the room: the longest list of arguments takes a quarter
_ALIGN = 64
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def rounded(size: int) -> int:
    """Return the bytes that an array of ``size`` bytes takes in the room."""
    return -(-size // _ALIGN) * _ALIGN


def room_for(arguments: Sequence[Any], scratch: Sequence[int], helpers: int) -> int:
    """Return the bytes of room that a job needs; ``scratch``: places of arguments that each helper has for itself."""
    return OF_ARGUMENTS + helpers * sum(rounded(arguments[k].nbytes) for k in scratch)


def entry_of(items: Any, scratch: Sequence[int], kept: Sequence[int]) -> Any:
    """Return the intrinsic ``entry(n, size, board, arguments)``.

    It stores the arguments and returns the address of the machine code that runs ``items(n, size, board, *arguments)``
    for a thread, and that of the place. Parameters as for ``jit.threads.shared``, ``items`` a dispatcher.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def entry(typing: Any, n: Any, size: Any, board: Any, arguments: Any) -> Any:
        stored = types.Tuple((n, size, board, *arguments.types))
        called = types.Dispatcher(items).get_call_type(typing, tuple(stored.types), {})

        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            size_value, board_value = values[1], make_array(board)(context, builder, values[2])
            unpacked = cgutils.unpack_tuple(builder, values[3])
            held = context.make_tuple(builder, stored, [*values[:3], *unpacked])
            assert context.get_abi_sizeof(held.type) <= OF_ARGUMENTS
            stack = builder.ptrtoint(cgutils.alloca_once(builder, held.type), _I64)
            room = builder.load(builder.gep(board_value.data, [_I64(ROOM)]))
            place = builder.select(builder.icmp_signed(">", size_value, _I64(0)), room, stack)
            builder.store(held, builder.inttoptr(place, held.type.as_pointer()))
            function = _entry(context, builder, items, called, stored, held.type, scratch, kept)
            return context.make_tuple(builder, result, [builder.ptrtoint(function, _I64), place])

        result = types.UniTuple(types.int64, 2)
        return result(n, size, board, arguments), generate

    return entry


def _entry(
    context: Any, outer: Any, items: Any, called: Any, stored: Any, held: Any, scratch: Sequence[int],
    kept: Sequence[int],
) -> ir.Function:  # fmt: skip
    """Write the function ``(number, place)``: it runs the items with arguments at a place; 1 is an error."""
    kind = ir.FunctionType(_I32, [_I64, _I64])
    function = ir.Function(outer.module, kind, outer.module.get_unique_name("entry"))
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    number, place = function.args
    values = cgutils.unpack_tuple(builder, builder.load(builder.inttoptr(place, held.as_pointer())))
    is_helper = builder.icmp_signed(">", number, _I64(0))
    offsets, total = [], _I64(0)
    for k in (*scratch, *kept):
        array = make_array(stored.types[3 + k])(context, builder, values[3 + k])
        is_own = is_helper
        if k in kept:
            rows = builder.extract_value(array.shape, 0)
            is_own = builder.and_(is_helper, builder.icmp_signed("==", rows, _I64(1)))
        offsets.append((3 + k, array, is_own, total))
        size = builder.mul(array.nitems, array.itemsize)
        more = builder.and_(builder.add(size, _I64(_ALIGN - 1)), _I64(-_ALIGN))
        total = builder.add(total, builder.select(is_own, more, _I64(0)))
    before = builder.mul(builder.sub(number, _I64(1)), total)
    own = builder.add(builder.add(place, _I64(OF_ARGUMENTS)), before)
    for at, array, is_own, offset in offsets:
        data = builder.inttoptr(builder.add(own, offset), array.data.type)
        array.data = builder.select(is_own, data, array.data)
        values[at] = array._getvalue()  # noqa: SLF001
    given = [*values[:3], context.make_tuple(builder, called.args[3], values[3:])]
    compiled = items.overloads[called.args]
    context.add_linking_libs([compiled.library])
    status, _ = context.call_internal_no_propagate(builder, compiled.fndesc, called, given)
    builder.ret(builder.zext(status.is_error, _I32))
    return function
