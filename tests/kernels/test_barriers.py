"""The members of a team wait in the same call: the compiler of Python has no copy of it, which some would wait in."""

import ast
import dis
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest
from beatwire.kernels import team

pytest.importorskip("_numba_cuda_redirector", reason="numba-cuda is not installed (extra dev or gpu, on Linux)")
from beatwire.jit.cuda import launchers, overrides

BARRIERS = {team.wait, team.most, team.fewest, team.added}
Body = Callable[..., Any]


def called_by(body: Body) -> dict[str, Body]:
    """Return the bodies that a body calls, by the name that it has for them."""
    assert isinstance(body, FunctionType)
    found = {name: body.__globals__.get(name) for name in body.__code__.co_names}
    return {
        name: overrides.BODIES.get(f, f)
        for name, f in found.items()
        if isinstance(f, FunctionType) and f.__module__.startswith(launchers.BODIES_OF)
    }


def bodies(body: Body, seen: set[Body]) -> set[Body]:
    """Return a body and all that it calls."""
    if body not in seen:
        seen.add(body)
        for callee in called_by(body).values():
            bodies(callee, seen)
    return seen


def waiting_bodies() -> dict[Body, set[str]]:
    """Return the bodies of teams that wait, and the names of what they call for it."""
    of_teams: set[Body] = set()
    for plan in launchers.PLANS.values():
        bodies(plan.body, of_teams)
    waits, before = set(BARRIERS), -1
    while len(waits) > before:
        before = len(waits)
        waits |= {body for body in of_teams if waits.intersection(called_by(body).values())}
    return {body: {name for name, f in called_by(body).items() if f in waits} for body in waits - BARRIERS}


def tree_of(body: Body) -> ast.AST:
    """Return the text of a body, parsed."""
    return ast.parse(textwrap.dedent(inspect.getsource(body)))


def calls(tree: ast.AST, names: set[str]) -> bool:
    """Return True if one of the names is called."""
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(tree))


def breaks(loop: ast.stmt) -> bool:
    """Return True if a loop is left by ``break``."""
    inside = list(ast.iter_child_nodes(loop))
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(node, ast.For | ast.While):
            inside += ast.iter_child_nodes(node)
    return False


def left_into(tree: ast.AST, names: set[str]) -> Iterator[int]:
    """Yield the lines of loops that are left by ``break``, with a call of one of the names behind them."""
    for node in ast.walk(tree):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            for loop, following in itertools.pairwise(block) if isinstance(block, list) else ():
                if isinstance(loop, ast.For | ast.While) and breaks(loop) and calls(following, names):
                    yield loop.lineno


def first_other(points: Any, n: int) -> int:
    found = n
    for q in range(team.member(), n):
        if points[q]:
            found = q
            break
    return fewest(found)


fewest = team.fewest


def test_a_loop_that_is_left_into_a_barrier_is_found() -> None:
    assert list(left_into(tree_of(first_other), {"fewest"})) == [3]


def test_each_barrier_of_a_body_is_compiled_once() -> None:
    waiting = waiting_bodies()
    assert len(waiting) > 50
    for body, names in waiting.items():
        assert isinstance(body, FunctionType)
        tree, compiled = tree_of(body), list(dis.get_instructions(body))
        assert not list(left_into(tree, names)), f"{body.__module__}.{body.__name__} leaves a loop into a barrier"
        for name in names:
            stated = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
            found = sum(step.opname.startswith("LOAD_GLOBAL") and step.argval == name for step in compiled)
            assert found == stated, f"{body.__module__}.{body.__name__} has {found} calls of {name}, not {stated}"
