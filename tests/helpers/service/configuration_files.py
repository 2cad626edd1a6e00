"""Files of a configuration for tests, and the error of one that is refused."""

from pathlib import Path

import pytest
from beatwire.cli.configured import OPTIONS
from beatwire.configuration.load import load
from beatwire.errors import UserError


def file(folder: Path, text: str) -> Path:
    path = folder / "beatwire.toml"
    path.write_text(text)
    return path


def error_of(folder: Path, text: str = "", environment: dict[str, str] | None = None, **options: object) -> str:
    given = {key.replace("__", "."): (OPTIONS.get(key.replace("__", "."), "-X"), v) for key, v in options.items()}
    with pytest.raises(UserError) as refused:
        load(file(folder, text), given, environment or {})
    assert "\n" not in str(refused.value)
    return str(refused.value)
