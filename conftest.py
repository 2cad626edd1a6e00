"""Modules without an example are not imported to look for one: each process of tests would import all of them."""

from pathlib import Path

pytest_plugins = ["lost_processes"]  # of tests/helpers


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Return True for a module that has neither tests nor doctests."""
    is_module = collection_path.suffix == ".py" and not collection_path.name.startswith(("test_", "conftest"))
    return True if is_module and ">>> " not in collection_path.read_text("utf-8") else None
